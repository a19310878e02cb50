/**
 * Closes connections whose client does not read what it is sent. A client that waits for a call is not one of them,
 * however long it waits: there is nothing to read.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How long a client may read nothing while bytes wait for it, in ms. */
const SLOW_MS = 30_000

/** How often a connection is checked in the time that it may be slow. */
const LOOKS = 15

/** What the client has taken, and for how long it has taken nothing more, in ms. */
type Progress = { taken: string; idleMs: number }

/** A watch over the connections of a server. */
export type ReaderWatch = {
  /** Closes those whose client has read nothing for too long. Takes the ms since the last check. */
  look: (passedMs: number) => void
  stop: () => void
}

/** Watches the connections of a server, which are checked only on demand. */
export function watchReaders(server: Server, slowMs: number): ReaderWatch {
  const sockets = new Map<Socket, Progress | null>()
  const watch = (socket: Socket): void => {
    sockets.set(socket, null)
    socket.once('close', () => sockets.delete(socket))
  }
  server.on('connection', watch)
  return {
    look: (passedMs) => {
      for (const [socket, before] of sockets) sockets.set(socket, look(socket, before, passedMs, slowMs))
    },
    stop: () => {
      server.off('connection', watch)
    },
  }
}

/** Watches the connections of a server, and checks them in time. @returns how to stop. */
export function closeSlowReaders(server: Server, slowMs = SLOW_MS): () => void {
  const readers = watchReaders(server, slowMs)
  const paceMs = slowMs / LOOKS
  let lookedAt = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // A pause of the process is not its clients' fault: it counts as two checks at most.
    const passedMs = Math.min(now - lookedAt, 2 * paceMs)
    lookedAt = now
    readers.look(passedMs)
  }, paceMs).unref()
  return () => {
    clearInterval(timer)
    readers.stop()
  }
}

function look(socket: Socket, before: Progress | null, passedMs: number, slowMs: number): Progress | null {
  if (socket.writableLength === 0) return null
  const taken = takenBy(socket)
  if (before?.taken !== taken) return { taken, idleMs: 0 }
  const idleMs = before.idleMs + passedMs
  if (idleMs >= slowMs) socket.destroy()
  return { taken, idleMs }
}

/**
 * What the kernel has taken for the client, as a text that changes with it. Node reports
 * a write only at its end; its handle knows the remaining bytes, and Node's own socket time-outs read it, too.
 */
export function takenBy(socket: Socket): string {
  const handle = (socket as { _handle?: { writeQueueSize?: number } })._handle
  return `${socket.bytesWritten - socket.writableLength} ${handle?.writeQueueSize ?? 0}`
}
