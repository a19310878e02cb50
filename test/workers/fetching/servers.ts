/** Real servers on the loopback interface that count who connects to them. */
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Listening = {
  port: number
  /** `http://127.0.0.1:<port>` */
  origin: string
  /** How many connections were ever opened. */
  connections: () => number
  /** The received requests, newest last. */
  requests: { url: string; headers: Record<string, unknown> }[]
  close: () => Promise<void>
}

/** Starts any Node server on a free port. */
export async function listening(server: Server, host = '127.0.0.1', scheme = 'http'): Promise<Listening> {
  const sockets = new Set<Socket>()
  let connections = 0
  const requests: Listening['requests'] = []
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
  })
  server.prependListener('request', ({ url = '', headers }) => requests.push({ url, headers }))
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `${scheme}://${host}:${port}`,
    connections: () => connections,
    requests,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts an HTTP server. */
export const serve = (handler: RequestListener, host?: string): Promise<Listening> =>
  listening(createServer(handler), host)
