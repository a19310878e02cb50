/**
 * Finds what was declared at a path, in one radix tree: a router that tries its patterns one after the other costs each
 * request as much as all of them.
 */
import type Router from '@koa/router'
import findMyWay from 'find-my-way'
import type { Middleware } from 'koa'
import type { RequestState } from '../middleware/request-context.ts'

type Serve = Middleware<RequestState>

/** What was declared for one pattern: what serves each method. */
type Route = { path: string | RegExp; serves: Map<string, Serve> }

/** A route, and the parameters that a path has for it. */
export type Found = Route & { params: Record<string, string> }

/** Longer than any path: Node refuses longer headers first. In characters. */
const MAX_PARAM_LENGTH = 1 << 20

/**
 * What is at each path, by the declarations of a router. A path has one spelling: its case and its slashes count, and
 * nothing in it is decoded before it is compared. A pattern without parameters hides those with parameters, for
 * every method: `DELETE /v1/videos/generations` deletes no video. Wildcards are at the end of a pattern.
 * @returns a function that answers null where nothing was declared
 */
export function tableOf(router: Router<RequestState>): (path: string) => Found | null {
  // One tree for all methods: it finds the place, and the place has the methods.
  const tree = findMyWay({ maxParamLength: MAX_PARAM_LENGTH })
  const routes = new Map<string, Route>()
  for (const { path, methods, stack } of router.stack) {
    const route = routes.get(String(path)) ?? { path, serves: new Map<string, Serve>() }
    for (const method of methods) if (!route.serves.has(method)) route.serves.set(method, inTurn(stack as Serve[]))
    if (!routes.has(String(path)) && typeof path === 'string') tree.on('GET', treePattern(path), () => {}, route)
    routes.set(String(path), route)
  }
  const patterns = [...routes.values()].filter(({ path }) => path instanceof RegExp)
  return (path) => {
    // The tree decodes paths; an escaped percent sign survives that as it is.
    const found = tree.find('GET', path.replaceAll('%', '%25'))
    const params = found && paramsOf(found.store as Route, found.params)
    if (params) return { ...(found.store as Route), params }
    const route = patterns.find((one) => (one.path as RegExp).test(path))
    return route ? { ...route, params: {} } : null
  }
}

/** A pattern in the words of the tree: its wildcards have no name. */
const treePattern = (path: string): string => path.replace(/\*\w+$/, '*')

/** The parameters by the names that were declared, decoded; null where one is empty, which is no such path. */
function paramsOf({ path }: Route, found: Record<string, string | undefined>): Record<string, string> | null {
  const params: Record<string, string> = {}
  for (const [name, text] of Object.entries(found)) {
    if (!text) return null
    params[name === '*' ? /\*(\w+)$/.exec(String(path))![1]! : name] = decoded(text)
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
