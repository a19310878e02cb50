/**
 * Finds the endpoint of a request. Paths without parameters are in a map, and are looked up before any pattern is
 * tried.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import { ApiError } from '../shared/errors.ts'
import { routeConsole } from './static/console.ts'
import type { Endpoint } from './declaration.ts'
import type { WebDeps } from './deps.ts'
import { routeDocs } from './static/docs.ts'
import type { RequestState } from './middleware/request-context.ts'
import { DASHBOARD_PATH, createDashboard } from './ops/dashboard.ts'
import { GATEWAY_PATHS, endpoints } from './routes.ts'

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

/** Endpoints without parameters, by method and path. */
type ExactPaths = Map<string, Map<string, Serve>>

/** The table of the whole service. */
export function createTable(deps: WebDeps): Table {
  const router = new Router<RequestState>()
  const exact: ExactPaths = new Map()
  for (const one of endpoints as readonly Endpoint[]) {
    if (one.offered?.(deps.config) ?? true) addEndpoint(router, exact, one, one.serve(deps))
  }
  const { DASHBOARD_PASSWORD } = deps.config
  if (DASHBOARD_PASSWORD !== undefined) {
    router.all(`${DASHBOARD_PATH}{/*path}`, ...createDashboard(deps, DASHBOARD_PASSWORD))
  }
  routeConsole(router)
  routeDocs(router, deps, endpoints)
  const byPattern = router.routes() as unknown as Serve
  return {
    router,
    dispatch: (ctx, next) => (exact.get(ctx.method)?.get(ctx.path) ?? byPattern)(ctx, next),
    refuse: refuse(router),
  }
}

function addEndpoint(router: Router<RequestState>, exact: ExactPaths, { method, path }: Endpoint, serve: Serve): void {
  router[method](path, serve)
  if (path.includes(':')) return
  for (const name of method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]) {
    exact.set(name, (exact.get(name) ?? new Map<string, Serve>()).set(path, serve))
  }
}

function refuse(router: Router<RequestState>): Serve {
  return (ctx) => {
    ctx.state.envelope = GATEWAY_PATHS.test(ctx.path) ? 'gateway' : 'console'
    const methods = new Set(router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods))
    if (methods.size === 0 || methods.has(ctx.method)) throw new ApiError('not_found')
    throw new ApiError('method_not_allowed', { headers: { Allow: [...methods].toSorted().join(', ') } })
  }
}
