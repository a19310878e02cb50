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
import { errorHandler, isServiceUnavailable, responseGate } from './middleware/error-handler.ts'
import type { RequestState } from './middleware/request-context.ts'
import { requestContext } from './middleware/request-context.ts'
import { createTable } from './endpoint/router.ts'
import type { Config } from '../shared/platform/config/config.ts'

/** Builds the application. `app.proxy` stays off: Koa would believe the leftmost, client-made forwarding header. */
export function createApp(deps: WebDeps): Koa<RequestState> {
  const app = new Koa<RequestState>()
  app.on('error', (error: Error & { code?: string }, ctx?: { state: RequestState }) => {
    if (isClientAbort(error)) return
    if (error instanceof AnswerGone || isServiceUnavailable(error))
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

/** A path with its query, and nothing else. */
const PATH = /^\/[^#]*$/

/** The origin that clients of a proxy put before the path. */
const ORIGIN = /^https?:\/\/[^/?#]+/i

/** Where nothing is. */
const NOWHERE = '/*'

/**
 * The target of a request (RFC 9112, 3.2) as its path and query; a path where nothing is if it has none. Everything
 * after this relies on a path: the parser of Koa's `ctx.path` throws at some origins, and finds no path in other
 * targets; the router takes `*` for `/`.
 */
function pathOf(target: string): string {
  if (PATH.test(target)) return target
  const path = target.replace(ORIGIN, '').replace(/#.*$/, '')
  return path.startsWith('/') ? path : NOWHERE
}

/** An answer that is not a page loads nothing and cannot be framed. */
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'"

/** A year, in seconds. Without subdomains: they are not ours. */
const HTTPS_ONLY = 'max-age=31536000'

/** Answers of these paths belong to one caller and must not be cached. */
const PRIVATE = /^\/(?:api|v1|v1beta)(?:\/|$)/

/**
 * Sets the security headers of every answer, before anything can answer and set its own in their place. A page states
 * more exactly what it needs; everything else is data, which no browser should ever run, frame or store.
 */
function securityHeaders({ BASE_URL }: Pick<Config, 'BASE_URL'>): (ctx: Pick<Context, 'path' | 'res'>) => void {
  const isHttps = BASE_URL.startsWith('https:')
  return ({ path, res }) => {
    // Koa's own setter looks each header up first.
    res.setHeader('Content-Security-Policy', NO_PAGE)
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Referrer-Policy', 'no-referrer')
    if (isHttps) res.setHeader('Strict-Transport-Security', HTTPS_ONLY)
    if (PRIVATE.test(path)) res.setHeader('Cache-Control', 'no-store')
  }
}
