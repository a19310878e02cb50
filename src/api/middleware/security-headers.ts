/**
 * Security headers of every answer. A page states more exactly what it needs; everything else is data, which no
 * browser should ever run, frame or keep.
 */
import type { Context } from 'koa'
import type { Config } from '../../shared/platform/config/config.ts'

/** An answer that is not a page loads nothing and cannot be framed. */
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'"

/** A year, in seconds. Without subdomains: they are not ours. */
const HTTPS_ONLY = 'max-age=31536000'

/** Answers of these paths belong to one caller and must not be cached. */
const PRIVATE = /^\/(?:api|v1)(?:\/|$)/

/** Sets the headers before anything can answer, so that it may set its own in their place. */
export function securityHeaders({ BASE_URL }: Pick<Config, 'BASE_URL'>): (ctx: Pick<Context, 'path' | 'res'>) => void {
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
