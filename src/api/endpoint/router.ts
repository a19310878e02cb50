/**
 * Finds the endpoint of a request.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import { ApiError } from '../../shared/platform/errors.ts'
import { routeConsole } from '../static/console.ts'
import { tellTokens } from './auth.ts'
import type { Endpoint } from './declaration.ts'
import type { WebDeps } from '../deps.ts'
import { routeDocs } from '../static/docs.ts'
import type { Envelope, RequestState } from '../middleware/request-context.ts'
import { DASHBOARD_PATH, createDashboard } from '../ops/dashboard.ts'
import { GATEWAY_PATHS, endpoints } from '../routes.ts'
import type { Found } from './route-table.ts'
import { tableOf } from './route-table.ts'
import { doorHint } from './wrong-doors.ts'

type Serve = Middleware<RequestState>

/** What serves what: the endpoints of `routes.ts`, the pages and their files. */
export type Table = {
  /** Everything by its pattern. */
  router: Router<RequestState>
  /** Serves a request, or lets it pass where nothing is at its path. */
  dispatch: Serve
  /**
   * For what nothing served. A browser that asks for a page gets one, with the status 404.
   * @throws ApiError method_not_allowed with `Allow` for a known path, else not_found
   */
  refuse: Serve
}

/** What is at a path; null for nothing. */
type At = (path: string) => Found | null

/** The table of the whole service. */
export function createTable(deps: WebDeps): Table {
  const router = new Router<RequestState>()
  for (const one of endpoints as readonly Endpoint[]) {
    if (one.offered?.(deps.config) ?? true) router[one.method](one.path, one.serve(deps))
  }
  const { DASHBOARD_PASSWORD } = deps.config
  if (DASHBOARD_PASSWORD !== undefined) {
    const dashboard = createDashboard(deps, DASHBOARD_PASSWORD)
    for (const path of [DASHBOARD_PATH, `${DASHBOARD_PATH}/`, `${DASHBOARD_PATH}/*path`]) router.all(path, ...dashboard)
  }
  const page = routeConsole(router, deps.config, (ctx, next) => refusePrograms(at)(ctx, next))
  routeDocs(router, deps, endpoints)
  const at = tableOf(router)
  return {
    router,
    dispatch: (ctx, next) => {
      requireHost(ctx)
      const found = at(ctx.path)
      const serve = found?.serves.get(ctx.method)
      if (!found || !serve) return next()
      Object.assign(ctx, { params: found.params, _matchedRoute: found.path })
      return serve(ctx, next)
    },
    refuse: refuse(at, page, deps),
  }
}

/** @throws ApiError invalid_request for a request of HTTP/1.1 without a Host (RFC 9112, 3.2). */
function requireHost({ req, path, state }: Parameters<Serve>[0]): void {
  if (req.headers.host !== undefined || req.httpVersion !== '1.1') return
  state.envelope = envelopeOf(path)
  throw new ApiError('invalid_request', { message: 'The request has no Host header.', param: 'Host' })
}

const envelopeOf = (path: string): Envelope => (GATEWAY_PATHS.test(path) ? 'gateway' : 'console')

/** Paths of programs: a mistyped one is never answered with a page. */
const PROGRAM_PATHS = /^\/(?:v1|api|hooks)(?:\/|$)/

const wantsPage = (ctx: Parameters<Serve>[0]): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') &&
  !PROGRAM_PATHS.test(ctx.path) &&
  ctx.accepts('json', 'html') === 'html'

/** The console's own API, and others that are called the same, answer as the console does. */
const CONSOLE_API = /^\/api\/(?!v1\/)/

const hintAt = (at: At, path: string): string | null => doorHint(path, (other) => at(other) !== null)

function nothingAt({ path, state }: Parameters<Serve>[0], hint: string | null): ApiError {
  if (hint === null) return new ApiError('not_found')
  if (!CONSOLE_API.test(path)) state.envelope = 'gateway'
  return new ApiError('not_found', { message: hint })
}

/** A page whose path a program has taken for one below `/v1`: it asks for JSON, as no browser does. */
function refusePrograms(at: At): Serve {
  return (ctx, next) => {
    const wanted = ctx.get('accept').toLowerCase()
    const hint = wanted.includes('json') && !wanted.includes('html') ? hintAt(at, ctx.path) : null
    if (hint === null) return next()
    throw nothingAt(ctx, hint)
  }
}

function refuse(at: At, page: Serve | undefined, deps: WebDeps): Serve {
  return async (ctx, next) => {
    ctx.state.envelope = envelopeOf(ctx.path)
    const found = at(ctx.path)
    const methods = new Set(found?.serves.keys())
    if (methods.size === 0 && page && wantsPage(ctx)) {
      await page(ctx, next)
      if (ctx.status === 200) ctx.status = 404
      return
    }
    if (ctx.state.envelope === 'gateway') await tellTokens(deps, ctx)
    const hint = hintAt(at, ctx.path)
    // The id of a model can be any path: also one that belongs to another API.
    const isOurs = found?.path === ctx.path
    const isOfAnother = hint !== null && !isOurs && PROGRAM_PATHS.test(ctx.path)
    if (methods.size === 0 || methods.has(ctx.method) || isOfAnother) throw nothingAt(ctx, hint)
    const allowed = [...methods].toSorted().join(', ')
    const message = `This path takes ${allowed}, not ${ctx.method}.`
    throw new ApiError('method_not_allowed', { message, headers: { Allow: allowed } })
  }
}
