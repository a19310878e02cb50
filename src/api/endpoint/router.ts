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
import { doorHint } from './wrong-doors.ts'

type Serve = Middleware<RequestState>

/** What serves what: the endpoints of `routes.ts`, the pages and their files. */
export type Table = {
  /** Everything by its pattern. */
  router: Router<RequestState>
  /** Serves a request, or lets it pass where nothing is at its path. */
  dispatch: Serve
  /**
   * For what nothing served. A browser that looks for a page gets one, with the status 404.
   * @throws ApiError method_not_allowed with `Allow` for a known path, else not_found
   */
  refuse: Serve
}

/** The table of the whole service. */
export function createTable(deps: WebDeps): Table {
  // A path has one spelling: what is said of it elsewhere, of its headers or in a proxy, holds for all that it serves.
  const router = new Router<RequestState>({ sensitive: true, strict: true })
  for (const one of endpoints as readonly Endpoint[]) {
    if (one.offered?.(deps.config) ?? true) router[one.method](one.path, one.serve(deps))
  }
  const { DASHBOARD_PASSWORD } = deps.config
  if (DASHBOARD_PASSWORD !== undefined) {
    router.all(`${DASHBOARD_PATH}{/{*path}}`, ...createDashboard(deps, DASHBOARD_PASSWORD))
  }
  const page = routeConsole(router, deps.config, refusePrograms(router))
  routeDocs(router, deps, endpoints)
  const serve = router.routes() as unknown as Serve
  const literal = literalPaths(router)
  return {
    router,
    dispatch: (ctx, next) => {
      requireHost(ctx)
      // Of another method it is no parameter of another path: `DELETE /v1/videos/generations` deletes no video.
      return literal.get(ctx.path)?.has(ctx.method) === false ? next() : serve(ctx, next)
    },
    refuse: refuse(router, page, deps),
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

/** What is at a path: an endpoint that has it literally hides those that have it as a parameter. */
function layersAt(router: Router<RequestState>, path: string) {
  const layers = router.stack.filter((layer) => layer.match(path))
  const literal = layers.filter((layer) => layer.path === path)
  return literal.length > 0 ? literal : layers
}

/** The methods of each path without parameters. */
function literalPaths(router: Router<RequestState>): ReadonlyMap<string, ReadonlySet<string>> {
  const paths = new Map<string, Set<string>>()
  for (const { path, methods } of router.stack) {
    if (typeof path !== 'string' || /[:*{]/.test(path)) continue
    paths.set(path, new Set([...(paths.get(path) ?? []), ...methods]))
  }
  return paths
}

/** The console's own API, and others that are called the same, answer as the console does. */
const CONSOLE_API = /^\/api\/(?!v1\/)/

const hintAt = (router: Router<RequestState>, path: string): string | null =>
  doorHint(path, (other) => layersAt(router, other).length > 0)

function nothingAt({ path, state }: Parameters<Serve>[0], hint: string | null): ApiError {
  if (hint === null) return new ApiError('not_found')
  if (!CONSOLE_API.test(path)) state.envelope = 'gateway'
  return new ApiError('not_found', { message: hint })
}

/** A page whose path a program has taken for one below `/v1`: it says that it wants JSON, as no browser does. */
function refusePrograms(router: Router<RequestState>): Serve {
  return (ctx, next) => {
    const wanted = ctx.get('accept').toLowerCase()
    const hint = wanted.includes('json') && !wanted.includes('html') ? hintAt(router, ctx.path) : null
    if (hint === null) return next()
    throw nothingAt(ctx, hint)
  }
}

function refuse(router: Router<RequestState>, page: Serve | undefined, deps: WebDeps): Serve {
  return async (ctx, next) => {
    ctx.state.envelope = envelopeOf(ctx.path)
    const layers = layersAt(router, ctx.path)
    const methods = new Set(layers.flatMap((layer) => layer.methods))
    if (methods.size === 0 && page && wantsPage(ctx)) {
      await page(ctx, next)
      if (ctx.status === 200) ctx.status = 404
      return
    }
    if (ctx.state.envelope === 'gateway') await tellTokens(deps, ctx)
    const hint = hintAt(router, ctx.path)
    // The id of a model can be any path: also one that belongs to another API.
    const isOurs = layers.some((layer) => layer.path === ctx.path)
    const isOfAnother = hint !== null && !isOurs && PROGRAM_PATHS.test(ctx.path)
    if (methods.size === 0 || methods.has(ctx.method) || isOfAnother) throw nothingAt(ctx, hint)
    const allowed = [...methods].toSorted().join(', ')
    const message = `This path takes ${allowed}, not ${ctx.method}.`
    throw new ApiError('method_not_allowed', { message, headers: { Allow: allowed } })
  }
}
