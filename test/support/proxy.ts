import { createConnection, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** A statement or command that a client sent: its bytes, and a name by which it is told from others. */
export type Statement = { bytes: Buffer; label: string }

/** How a protocol is read on its way. Both are made anew for each connection. */
export type Wire = {
  /** Takes bytes of the client, answers the whole statements in them; bytes of a part are kept. */
  statements(bytes: Buffer): Statement[]
  /** Bytes to send behind a statement so that its answer can be told, or none. */
  question(): Buffer | null
  /** Takes bytes of the server after a statement was forwarded, answers whether it has been carried out. */
  isDone(bytes: Buffer): boolean
}

/**
 * When a connection is cut: before the statement arrives, or after it was carried out and before its answer is heard.
 */
export type Side = 'before' | 'after'

/** One cut: at the nth statement from now on whose label is this one. */
export type Cut = { label: string; nth: number; side: Side }

/** How long a carried-out statement may take to show, in ms; the connection is cut in any case. */
const DONE_WITHIN_MS = 2000

/** A TCP proxy that can cut a connection at exactly one statement. */
export class Proxy {
  /** Every statement since `watch`, in order. */
  seen: string[] = []
  private cut: Cut | null = null
  private counts = new Map<string, number>()
  private readonly sockets = new Set<Socket>()
  private readonly server: Server
  private readonly target: number
  private readonly wire: () => Wire

  private constructor(target: number, wire: () => Wire) {
    this.target = target
    this.wire = wire
    this.server = createServer({ noDelay: true }, (client) => this.connect(client))
  }

  /** Starts a proxy on a free port of 127.0.0.1 in front of another port there. */
  static async start(target: number, wire: () => Wire): Promise<Proxy> {
    const proxy = new Proxy(target, wire)
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  /** Where it listens. */
  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Whether the cut of the last `watch` has been made. */
  get hasCut(): boolean {
    return this.cut === null
  }

  /** Begins to count statements anew, and to look for one to cut at. */
  watch(cut: Cut | null = null): void {
    this.seen = []
    this.counts.clear()
    this.cut = cut
  }

  /** Cuts every connection now. */
  cutAll(): void {
    for (const socket of this.sockets) socket.resetAndDestroy()
  }

  /** Stops it, and with it every connection. */
  async close(): Promise<void> {
    this.server.close()
    this.cutAll()
  }

  private connect(client: Socket): void {
    const server = createConnection({ port: this.target, host: '127.0.0.1', noDelay: true })
    const wire = this.wire()
    const end = () => {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
    for (const socket of [client, server]) {
      this.sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        this.sockets.delete(socket)
        end()
      })
    }
    let swallowing = false
    server.on('data', (bytes: Buffer) => {
      if (!swallowing) client.write(bytes)
      else if (wire.isDone(bytes)) end()
    })
    client.on('data', (bytes: Buffer) => {
      if (swallowing) return
      for (const statement of wire.statements(bytes)) {
        const side = this.sideFor(statement.label)
        if (side === 'before') return end()
        server.write(statement.bytes)
        if (side === 'after') {
          swallowing = true
          const question = wire.question()
          if (question) server.write(question)
          setTimeout(end, DONE_WITHIN_MS).unref()
          return
        }
      }
    })
  }

  private sideFor(label: string): Side | null {
    if (label === '') return null
    this.seen.push(label)
    const nth = (this.counts.get(label) ?? 0) + 1
    this.counts.set(label, nth)
    const { cut } = this
    if (!cut || cut.label !== label || cut.nth !== nth) return null
    this.cut = null
    return cut.side
  }
}
