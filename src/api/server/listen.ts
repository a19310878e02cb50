/**
 * The HTTP server of the web process.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Config } from '../../shared/platform/config/config.ts'
import { listenAt } from '../../shared/platform/http/http-server.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import { answerParserError, answerUnknownExpectation } from './malformed-http.ts'
import { closeSlowReaders } from './slow-clients.ts'

/**
 * Times in ms. Idle connections outlive those of Heroku's router (90 s), so that it never uses a closed one.
 * Whether a request has a Host is checked where it is dispatched: Node's own refusal has no X-Request-Id.
 */
const OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 95_000,
  connectionsCheckingInterval: 5000,
  requireHostHeader: false,
} as const

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Serves requests at PORT, and answers what never becomes one. `handler` answers its own failures; the connection of
 * one that does not is broken. @throws as `listenAt`.
 */
export async function listen(handler: Handler, config: Pick<Config, 'HOST' | 'PORT'>): Promise<Server> {
  const answering = {
    request: (request: IncomingMessage, response: ServerResponse) => {
      handler(request, response).catch((error: unknown) => {
        response.destroy()
        reportDefect(error)
      })
    },
    unknownExpectation: answerUnknownExpectation,
    error: answerParserError,
  }
  const server = await listenAt(config, config.PORT, answering, OPTIONS)
  server.once('close', closeSlowReaders(server))
  return server
}
