import { createConnection, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** An address that leads elsewhere from some moment on, as a name does after a failover. */
export type MovingAddress = {
  port: number
  /** New connections lead there from now on. Those that are open stay where they are. */
  moveTo: (port: number) => void
  /** How many connections are open to a port. */
  openTo: (port: number) => number
  close: () => void
}

/** Listens on a free port of 127.0.0.1, and leads to another one there. */
export async function movingAddress(first: number): Promise<MovingAddress> {
  let target = first
  const sockets = new Map<Socket, number>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = createConnection({ port: target, host: '127.0.0.1', noDelay: true })
    sockets.set(client, target)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.pipe(other)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(client)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    moveTo: (port) => {
      target = port
    },
    openTo: (port) => [...sockets.values()].filter((one) => one === port).length,
    close: () => {
      server.close()
      for (const socket of sockets.keys()) socket.destroy()
    },
  }
}

/** The same address at another port. */
export function atPort(address: string, port: number): string {
  const url = new URL(address)
  url.port = String(port)
  return url.href
}
