/**
 * Finds what serves a request. Paths without parameters stand in a map, and are found before any pattern is tried.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import { ApiError } from '../shared/errors.ts'
import type { Modality } from '../shared/calls/lifecycle.ts'
import { routeConsole } from './console-app.ts'
import type { WebDeps } from './deps.ts'
import type { Endpoint } from './endpoint.ts'
import { routeDocs } from './docs.ts'
import { serveMedia } from './media.ts'
import { jsonBody } from './middleware/json-body.ts'
import type { RequestState } from './middleware/request-context.ts'
import { DASHBOARD_PATH, createDashboard } from './ops/dashboard.ts'
import { healthz, readyz } from './ops/health.ts'
import { serveMetrics } from './ops/metrics.ts'
import { endpoints } from './routes.ts'
import { serveEndpoint } from './serve.ts'
import { admit, recordRefusals, requireKey } from './v1/admission.ts'
import { fetchCall } from './v1/calls.ts'
import { createChat } from './v1/chat.ts'
import { createMedia } from './v1/media.ts'
import { listModels } from './v1/models.ts'

type Serve = Middleware<RequestState>

/** What serves what: the endpoints of `routes.ts`, the pages and their files. */
export type Table = {
  /** Everything by its pattern. */
  router: Router<RequestState>
  /** Serves a request, or lets it pass where nothing is at its path. */
  dispatch: Serve
  /** For what nothing served. @throws ApiError method_not_allowed with `Allow` for a known path, else not_found. */
  refuse: Serve
}

/** The table of the whole service. */
export function createTable(deps: WebDeps): Table {
  const router = new Router<RequestState>()
  const exact: ExactPaths = new Map()
  for (const declared of endpoints) addEndpoint(router, exact, declared, serveEndpoint(declared, deps))
  gateway(router, deps)
  operations(router, deps)
  routeConsole(router)
  routeDocs(router, deps, endpoints)
  const byPattern = router.routes() as unknown as Serve
  return {
    router,
    dispatch: (ctx, next) => (exact.get(ctx.method)?.get(ctx.path) ?? byPattern)(ctx, next),
    refuse: (ctx) => {
      const methods = new Set(router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods))
      if (methods.size === 0 || methods.has(ctx.method)) throw new ApiError('not_found')
      throw new ApiError('method_not_allowed', { headers: { Allow: [...methods].toSorted().join(', ') } })
    },
  }
}

/** Endpoints without parameters, by method and path. */
type ExactPaths = Map<string, Map<string, Serve>>

function addEndpoint(router: Router<RequestState>, exact: ExactPaths, declared: Endpoint, serve: Serve): void {
  router[declared.method](declared.path, serve)
  if (declared.path.includes(':')) return
  for (const method of declared.method === 'get' ? ['GET', 'HEAD'] : [declared.method.toUpperCase()]) {
    const paths = exact.get(method) ?? new Map<string, Serve>()
    exact.set(method, paths.set(declared.path, serve))
  }
}

/** `/v1`: API keys (docs/api.md). */
function gateway(router: Router<RequestState>, deps: WebDeps): void {
  const key = requireKey(deps)
  const call = (modality: Modality): Middleware<RequestState>[] => [
    key,
    recordRefusals(deps, modality),
    admit(deps.limits.calls),
    jsonBody(),
  ]

  router.get('/v1/models', key, admit(deps.limits.calls), listModels(deps))
  router.post('/v1/images/generations', ...call('image'), createMedia(deps, 'image'))
  router.post('/v1/videos/generations', ...call('video'), createMedia(deps, 'video'))
  router.post('/v1/chat/completions', ...call('chat'), createChat(deps))
  router.get('/v1/calls/:id', key, admit(deps.limits.callReads), fetchCall(deps))
}

/** Media results, health and what operators look at. */
function operations(router: Router<RequestState>, deps: WebDeps): void {
  router.get('/media/:name', serveMedia({ reader: deps.media }))
  router.get('/healthz', healthz)
  router.get('/readyz', readyz(deps))

  const { DASHBOARD_PASSWORD, METRICS_TOKEN } = deps.config
  if (METRICS_TOKEN !== undefined) router.get('/metrics', serveMetrics(deps.metrics, METRICS_TOKEN))
  if (DASHBOARD_PASSWORD !== undefined)
    router.all(`${DASHBOARD_PATH}{/*path}`, ...createDashboard(deps, DASHBOARD_PASSWORD))
}
