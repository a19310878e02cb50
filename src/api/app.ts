/**
 * The web application: middleware in order. It opens no port, so that tests can mount it.
 */
import Koa from 'koa'
import type { Context, Middleware } from 'koa'
import { AnswerGone } from '../shared/calls/stored-answers.ts'
import { traceFields } from '../shared/platform/process/trace.ts'
import type { WebDeps } from './deps.ts'
import { warnOfProxies } from './middleware/client-address.ts'
import { allowOrigins } from './middleware/cors.ts'
import { errorHandler, isServiceAway } from './middleware/error-handler.ts'
import type { RequestState } from './middleware/request-context.ts'
import { requestContext } from './middleware/request-context.ts'
import { responseGate } from './middleware/response-gate.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { createTable } from './endpoint/router.ts'
import { pathOf } from './server/request-target.ts'

/** Builds the application. `app.proxy` stays off: Koa would believe the leftmost, client-made forwarding header. */
export function createApp(deps: WebDeps): Koa<RequestState> {
  const app = new Koa<RequestState>()
  app.on('error', (error: Error & { code?: string }, ctx?: { state: RequestState }) => {
    if (isClientAbort(error)) return
    if (error instanceof AnswerGone || isServiceAway(error))
      deps.log.warn({ ...traceFields(ctx?.state), err: error }, 'answer broken off')
    else deps.log.error({ ...traceFields(ctx?.state), err: error }, 'defect')
  })
  const { dispatch, refuse } = createTable(deps)
  app.use(edge(deps))
  app.use(errorHandler(deps.log, responseGate(deps.responseMemory), deps.schema))
  app.use(dispatch)
  app.use(refuse)
  return app
}

/** What every request and every answer has, in one layer: each of its own would be another promise a request. */
function edge(deps: WebDeps): Middleware<RequestState> {
  const begin = requestContext(deps)
  const secure = securityHeaders(deps.config)
  const warn = warnOfProxies(deps.config.TRUST_PROXY, deps.log)
  return async (koaContext, next) => {
    const ctx = koaContext as Context & { state: RequestState }
    ctx.url = pathOf(ctx.url)
    begin(ctx)
    warn(ctx.req)
    secure(ctx)
    if (!allowOrigins(ctx)) await next()
    if (deps.draining.aborted && !ctx.headerSent) ctx.set('Connection', 'close')
  }
}

/**
 * A client that disconnects while its answer is being written, that sends its request too slowly, or whose bytes are no
 * HTTP, is no defect of ours.
 */
const isClientAbort = ({ code = '' }: { code?: string }): boolean => code.startsWith('HPE_') || CLIENT_CODES.has(code)

const CLIENT_CODES = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_HTTP_REQUEST_TIMEOUT'])
