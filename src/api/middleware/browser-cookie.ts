/**
 * The cookie that binds the steps of a sign-in to one browser: a random secret, which no page can read and no other
 * site can set. It identifies nobody.
 */
import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import type { Config } from '../../shared/platform/config/config.ts'

/** How long it lasts: as long as the longest step of a sign-in, in seconds. */
const LIFE_SECONDS = 600

const SECRET = /^[\w-]{43}$/

/** Browsers accept the prefix `__Host-` over https alone, and then only from this very host. */
const isSecure = ({ BASE_URL }: Pick<Config, 'BASE_URL'>): boolean => BASE_URL.startsWith('https:')

const nameFor = (config: Pick<Config, 'BASE_URL'>): string =>
  isSecure(config) ? '__Host-tollgate-sign-in' : 'tollgate-sign-in'

/** The secret of the browser that sends a request; empty if it has none. */
export function browserOf(ctx: Context, config: Pick<Config, 'BASE_URL'>): string {
  const secret = ctx.cookies.get(nameFor(config)) ?? ''
  return SECRET.test(secret) ? secret : ''
}

/** The same, of a cookie that the answer sets if there is none yet, and renews. */
export function bindBrowser(ctx: Context, config: Pick<Config, 'BASE_URL'>): string {
  const secret = browserOf(ctx, config) || randomBytes(32).toString('base64url')
  const terms = `Path=/; Max-Age=${LIFE_SECONDS}; HttpOnly; SameSite=Lax${isSecure(config) ? '; Secure' : ''}`
  ctx.append('Set-Cookie', `${nameFor(config)}=${secret}; ${terms}`)
  return secret
}
