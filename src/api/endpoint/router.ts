/**
 * Finds the endpoint of a request.
 */
import Router from '@koa/router'
import type { Middleware } from 'koa'
import { ApiError } from '../../shared/platform/errors.ts'
import { routeConsole } from '../static/console.ts'
import { showTokens } from './auth.ts'
import type { Endpoint } from './declaration.ts'
import type { WebDeps } from '../deps.ts'
import { routeDocs } from '../static/docs.ts'
import { routeHelp } from '../static/help.ts'
import { GATEWAY_PATHS } from '../middleware/request-context.ts'
import type { Envelope, RequestState } from '../middleware/request-context.ts'
import { DASHBOARD_PATH, createDashboard } from '../ops/dashboard.ts'
import { endpoints } from '../routes.ts'
import { doorHint } from './wrong-doors.ts'
import findMyWay from 'find-my-way'

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
  routeHelp(router)
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

/** Below this path there is nothing but Gemini's API. */
const GEMINI_PATHS = /^\/v1beta(?:\/|$)/

const envelopeOf = (path: string): Envelope =>
  GEMINI_PATHS.test(path) ? 'gemini' : GATEWAY_PATHS.test(path) ? 'gateway' : 'console'

/** Paths of programs: a mistyped one is never answered with a page. */
const PROGRAM_PATHS = /^\/(?:v1|v1beta|api|hooks)(?:\/|$)/

const wantsPage = (ctx: Parameters<Serve>[0]): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') &&
  !PROGRAM_PATHS.test(ctx.path) &&
  ctx.accepts('json', 'html') === 'html'

/** Where OpenAI's clients ask for a WebSocket. After a 426 they go on over HTTP at once, otherwise after seconds. */
const SOCKET_PATHS: ReadonlySet<string> = new Set(['/v1/responses', '/v1/realtime'])

const isSocket = (ctx: Parameters<Serve>[0]): boolean =>
  ctx.method === 'GET' && SOCKET_PATHS.has(ctx.path) && ctx.get('upgrade').toLowerCase() === 'websocket'

/** The console's own API, and others that are called the same, answer as the console does. */
const CONSOLE_API = /^\/api\/(?!v1\/)/

const hintAt = (at: At, path: string): string | null => doorHint(path, (other) => at(other) !== null)

function nothingAt({ path, state }: Parameters<Serve>[0], hint: string | null): ApiError {
  if (hint === null) return new ApiError('not_found')
  if (!CONSOLE_API.test(path) && state.envelope !== 'gemini') state.envelope = 'gateway'
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
    if (isSocket(ctx)) throw new ApiError('upgrade_required')
    const found = at(ctx.path)
    const methods = new Set(found?.serves.keys())
    if (methods.size === 0 && page && wantsPage(ctx)) {
      await page(ctx, next)
      if (ctx.status === 200) ctx.status = 404
      return
    }
    if (ctx.state.envelope !== 'console') await showTokens(deps, ctx)
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

/** What was declared for one pattern: what serves each method. */
type Route = { path: string | RegExp; serves: Map<string, Serve> }

/** A route, and the parameters that a path has for it. */
export type Found = Route & { params: Record<string, string> }

/** Longer than any path: Node refuses longer headers first. In characters. */
const MAX_PARAM_LENGTH = 1 << 20

/**
 * What is at each path, by the declarations of a router: in one radix tree, since a router that tries its patterns one
 * after the other costs each request as much as all of them. A path has one spelling: its case and its slashes count,
 * and nothing in it is decoded before it is compared. A pattern without parameters hides those with parameters, for
 * every method: `DELETE /v1/videos/generations` deletes no video. Wildcards are at the end of a pattern.
 * @returns a function that answers null if nothing was declared
 */
export function tableOf(router: Router<RequestState>): (path: string) => Found | null {
  // One tree for all methods: it finds the place, and the place has the methods. Each verb of a place is a route.
  const tree = findMyWay({ maxParamLength: MAX_PARAM_LENGTH })
  const routes = new Map<string, Route>()
  const places = new Map<string, Route[]>()
  for (const { path, methods, stack } of router.stack) {
    const route = routes.get(String(path)) ?? { path, serves: new Map<string, Serve>() }
    for (const method of methods) if (!route.serves.has(method)) route.serves.set(method, inTurn(stack as Serve[]))
    if (!routes.has(String(path)) && typeof path === 'string') {
      const pattern = treePattern(path)
      const place = places.get(pattern) ?? []
      if (place.length === 0) tree.on('GET', pattern, () => {}, place)
      place[verbOf(path) === '' ? 'push' : 'unshift'](route)
      places.set(pattern, place)
    }
    routes.set(String(path), route)
  }
  const patterns = [...routes.values()].filter(({ path }) => path instanceof RegExp)
  return (path) => {
    // The tree decodes paths; an escaped percent sign survives that as it is.
    const found = tree.find('GET', path.replaceAll('%', '%25'))
    const at = (found?.store as Route[] | undefined)?.find((one) => path.endsWith(verbOf(one.path)))
    const params = found && at && paramsOf(at, found.params)
    if (params) return { ...at, params }
    const route = patterns.find((one) => (one.path as RegExp).test(path))
    return route ? { ...route, params: {} } : null
  }
}

/** A pattern in the words of the tree: its wildcards have no name, and no verb behind them. */
const treePattern = (path: string): string => path.replace(/\*\w+(?:\\:\w+)?$/, '*')

/** The verb behind the wildcard of a pattern, as Google writes it: `/v1/models/*model\:countTokens`; else empty. */
const verbOf = (path: string | RegExp): string => /\*\w+\\(:\w+)$/.exec(String(path))?.[1] ?? ''

/**
 * The parameters by the names that were declared, decoded; null if one is empty or nothing but slashes, which is no
 * such path.
 */
function paramsOf({ path }: Route, found: Record<string, string | undefined>): Record<string, string> | null {
  const params: Record<string, string> = {}
  for (const [name, text] of Object.entries(found)) {
    const value = name === '*' ? text?.slice(0, text.length - verbOf(path).length) : text
    if (!value || /^\/+$/.test(value)) return null
    params[name === '*' ? /\*(\w+)/.exec(String(path))![1]! : name] = decoded(value)
  }
  return params
}

/** A parameter without its percent encoding; as it was sent where that is not valid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The middleware of one declaration, one after the other. */
function inTurn(stack: readonly Serve[]): Serve {
  const [first, ...rest] = stack as [Serve, ...Serve[]]
  if (rest.length === 0) return first
  const others = inTurn(rest)
  return (ctx, next) => first(ctx, () => others(ctx, next))
}
