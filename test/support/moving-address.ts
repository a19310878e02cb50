import { createConnection, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** An address that leads elsewhere from some moment on, as a name does after a failover. */
export type MovingAddress = {
  port: number
  /** New connections lead there from now on. Those that are open stay where they are. */
  moveTo: (port: number) => void
  /**
   * Drops from now on whatever either end of an open connection sends, its goodbye too: as where a host has lost its
   * power, or a router has forgotten its connections. New connections are as silent until `moveTo`.
   */
  fallSilent: () => void
  /** How many connections are open to a port. */
  openTo: (port: number) => number
  /** How many silent connections have not been given up. */
  openToNowhere: () => number
  close: () => void
}

type Connection = { client: Socket; upstream: Socket | null; to: number; silent: boolean }

/** Listens on a free port of 127.0.0.1, and leads to another one there. */
export async function movingAddress(first: number): Promise<MovingAddress> {
  let target = first
  let silent = false
  const connections = new Set<Connection>()
  const open = (which: (one: Connection) => boolean) =>
    [...connections].filter((one) => !one.client.destroyed && which(one)).length
  const server = createServer({ noDelay: true }, (client) => connections.add(connect(client, { to: target, silent })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    moveTo: (port) => {
      target = port
      silent = false
    },
    fallSilent: () => {
      silent = true
      connections.forEach(cut)
    },
    openTo: (port) => open((one) => !one.silent && one.to === port),
    openToNowhere: () => open((one) => one.silent),
    close: () => {
      server.close()
      for (const { client, upstream } of connections) for (const socket of [client, upstream]) socket?.destroy()
    },
  }
}

function connect(client: Socket, { to, silent }: { to: number; silent: boolean }): Connection {
  client.on('error', () => {})
  // What nobody reads would never show that the other end has left.
  if (silent) return { client: client.resume(), upstream: null, to, silent }
  const upstream = createConnection({ port: to, host: '127.0.0.1', noDelay: true })
  const connection = { client, upstream, to, silent }
  upstream.on('error', () => {})
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.pipe(other)
    one.on('close', () => connection.silent || other.destroy())
  }
  return connection
}

/** Lets neither end hear of the other any more. */
function cut(connection: Connection): void {
  connection.silent = true
  for (const socket of [connection.client, connection.upstream]) socket?.unpipe().resume()
}

/** The same address at another port. */
export function atPort(address: string, port: number): string {
  const url = new URL(address)
  url.port = String(port)
  return url.href
}
