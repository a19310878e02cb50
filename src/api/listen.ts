/**
 * The HTTP server of the web process.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { answerParserError, answerUnknownExpectation } from './no-request.ts'
import { closeSlowReaders } from './slow-readers.ts'

/**
 * Times in ms. Kept-alive connections outlive those of Heroku's router (90 s), so that it never meets a closed one.
 * Whether a request has a Host is looked at where it is dispatched: Node's own refusal has no X-Request-Id.
 */
const OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 95_000,
  connectionsCheckingInterval: 5000,
  requireHostHeader: false,
} as const

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Serves requests at a port, and answers what never becomes one. `handler` never rejects. */
export async function listen(handler: Handler, port: number): Promise<Server> {
  const server = createServer(OPTIONS, (request, response) => void handler(request, response))
  server.on('clientError', answerParserError)
  server.on('checkExpectation', answerUnknownExpectation)
  server.once('close', closeSlowReaders(server))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  return server
}
