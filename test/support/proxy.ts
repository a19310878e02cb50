import { createConnection, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** A statement or command that a client sent: its bytes, and a name that identifies it. */
export type Statement = { bytes: Buffer; label: string }

/** Parses a protocol. Both functions are made anew for each connection. */
export type Wire = {
  /** Takes bytes of the client and returns the complete statements in them. */
  statements(bytes: Buffer): Statement[]
  /** Bytes to send after a statement so that its answer can be recognised, or none. */
  question(): Buffer | null
  /** Takes bytes of the server after a statement, and returns whether that has been executed. */
  isDone(bytes: Buffer): boolean
}

/**
 * When a connection is cut: before the statement arrives, or after it was executed and before its answer arrives.
 */
export type Side = 'before' | 'after'

/** One cut: at the nth statement from now on with this label. */
export type Cut = { label: string; nth: number; side: Side }

/** How long to wait until a statement was executed, in ms, before the connection is cut anyway. */
const DONE_WITHIN_MS = 2000

/** A TCP proxy that can cut a connection at exactly one statement. */
export class Proxy {
  /** Every statement since `watch`, in order. */
  seen: string[] = []
  private cut: Cut | null = null
  private counts = new Map<string, number>()
  private admission: Promise<unknown> = Promise.resolve()
  private readonly sockets = new Set<Socket>()
  private readonly server: Server
  private readonly target: number
  private readonly wire: () => Wire

  private constructor(target: number, wire: () => Wire) {
    this.target = target
    this.wire = wire
    this.server = createServer({ noDelay: true }, (client) => {
      client.on('error', () => {})
      this.admission.then(
        () => client.destroyed || this.connect(client),
        () => client.destroy(),
      )
    })
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

  /** Whether the cut of the last `watch` has happened. */
  get hasCut(): boolean {
    return this.cut === null
  }

  /** Counts statements anew, and waits for the one to cut at. */
  watch(cut: Cut | null = null): void {
    this.seen = []
    this.counts.clear()
    this.cut = cut
  }

  /** Lets new connections wait, which are open meanwhile, and hear nothing. */
  admitAfter(event: Promise<unknown>): void {
    this.admission = event
  }

  /** Cuts every connection now. */
  cutAll(): void {
    for (const socket of this.sockets) socket.resetAndDestroy()
  }

  /** Stops it and every connection. */
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
