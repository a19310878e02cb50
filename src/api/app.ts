/**
 * The web application: middleware in order. It opens no port, so that tests can mount it.
 */
import Koa from 'koa'
import type Router from '@koa/router'
import { ApiError } from '../shared/errors.ts'
import { traceFields } from '../shared/trace.ts'
import type { WebDeps } from './deps.ts'
import { cors } from './middleware/cors.ts'
import { errorHandler } from './middleware/error-handler.ts'
import type { RequestState } from './middleware/request-context.ts'
import { requestContext } from './middleware/request-context.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { createRouter } from './routes.ts'

/** Builds the application. `app.proxy` stays off: Koa would believe the leftmost, client-made forwarding header. */
export function createApp(deps: WebDeps): Koa<RequestState> {
  const app = new Koa<RequestState>()
  app.on('error', (error: Error & { code?: string }, ctx?: { state: RequestState }) => {
    if (isClientsDoing(error)) return
    deps.log.error({ ...traceFields(ctx?.state), err: error }, 'defect')
  })
  const router = createRouter(deps)
  app.use(requestContext(deps))
  app.use(securityHeaders(deps.config))
  app.use(cors())
  app.use(errorHandler(deps.log))
  app.use(router.routes())
  app.use(noSuchRoute(router))
  return app
}

/** A client that leaves while its answer is being written, or whose bytes are no HTTP, is no defect of ours. */
const isClientsDoing = ({ code = '' }: { code?: string }): boolean =>
  code.startsWith('HPE_') || code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'

/** 405 with `Allow` for a known path, else 404. */
function noSuchRoute(router: Router<RequestState>): Koa.Middleware<RequestState> {
  return (ctx) => {
    const methods = new Set(router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods))
    if (methods.size === 0 || methods.has(ctx.method)) throw new ApiError('not_found')
    throw new ApiError('method_not_allowed', { headers: { Allow: [...methods].toSorted().join(', ') } })
  }
}
