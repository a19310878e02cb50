/**
 * The target of a request (RFC 9112, 3.2).
 */

/** A path with its query, and nothing else. */
const PATH = /^\/[^#]*$/

/** The origin that clients of a proxy put before the path. */
const ORIGIN = /^https?:\/\/[^/?#]+/i

/** Where nothing is. */
const NOWHERE = '/*'

/**
 * A target as its path and query; a path where nothing is if it has none. Everything after this relies on a path: the
 * parser of Koa's `ctx.path` throws at some origins, and finds no path in other targets; the router takes `*` for `/`.
 */
export function pathOf(target: string): string {
  if (PATH.test(target)) return target
  const path = target.replace(ORIGIN, '').replace(/#.*$/, '')
  return path.startsWith('/') ? path : NOWHERE
}
