/** How a process listens for HTTP, at its web port or at its health port. */
import { createServer } from 'node:http'
import type { RequestListener, Server, ServerOptions } from 'node:http'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config.ts'
import { Connections } from './connections.ts'

/** What answers requests, and what never becomes one; Node itself if absent. None of them throws or rejects. */
export type Answering = {
  request: RequestListener
  unknownExpectation?: RequestListener
  error?: Parameters<Connections['errors']>[0]
}

/** Options of Node's server, and how many requests of all connections may wait for their turn. */
export type ServingOptions = ServerOptions & { maxWaiting?: number }

/** Node's errors for an address that is not one of this machine's. */
const NOT_HERE = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'])

/**
 * Listens at a port of HOST, or of every interface, until the server is closed.
 * @throws ConfigError where HOST is no address of this machine; Node's error if the port is not available.
 */
export async function listenAt(
  { HOST: host }: Pick<Config, 'HOST'>,
  port: number,
  answering: Answering,
  { maxWaiting, ...options }: ServingOptions = {},
): Promise<Server> {
  const server = createServer(options)
  const connections = new Connections(server, maxWaiting)
  server.on('request', connections.inTurn(answering.request))
  if (answering.unknownExpectation) server.on('checkExpectation', connections.inTurn(answering.unknownExpectation))
  if (answering.error) server.on('clientError', connections.errors(answering.error))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        host !== undefined && NOT_HERE.has(error.code ?? '')
          ? new ConfigError(`The configuration is not valid: HOST is no address of this machine (${error.code}).`)
          : error,
      ),
    )
    server.listen({ port, host }, resolve)
  })
  return server
}
