/**
 * Which pages of other origins may read an answer. `/v1` may be called from any page: it takes a key and no cookie, so
 * the browser never adds anything that the page does not have. `/api` allows no other origin, so it sets no header.
 */
import type { Context } from 'koa'
import { ALLOWANCE_HEADERS, TOKEN_HEADERS } from '../endpoint/allowances.ts'

/** Whether pages of any origin may read the answers of a path. */
export const isOpenToOrigins = (path: string): boolean => /^\/v1(?:beta)?(?:\/|$)/.test(path)

/** What a page may read of an answer, besides what every page may read. */
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Request-Id',
  'X-Call-Id',
  ...ALLOWANCE_HEADERS,
  ...TOKEN_HEADERS,
  'Retry-After',
  'X-Should-Retry',
  'Allow',
  'Location',
  'Preference-Applied',
  'Idempotent-Replayed',
  'X-Max-Output-Tokens',
  'X-Tollgate-Session',
  'X-Credits',
  'X-Balance',
  'OpenAI-Poll-After-Ms',
  'Content-Range',
  'Accept-Ranges',
] as const

const METHODS = 'GET, POST, DELETE'

/** What a page may send. `*` would not do: it does not include Authorization. */
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'Prefer',
  'X-Request-Id',
  'Traceparent',
  'X-Max-Credits',
  'X-Price-Version',
  'X-New-Call',
  'X-Callback-Url',
  'Range',
  'X-Api-Key',
  'X-Goog-Api-Key',
  'Anthropic-Version',
  'Anthropic-Beta',
  'HTTP-Referer',
  'X-Title',
  'User-Agent',
  'Sentry-Trace',
  'Baggage',
]

/** Headers that OpenAI SDKs add: every version has others. */
const SDK_HEADER = /^(?:x-stainless|x-goog|openai|anthropic)-[a-z0-9-]{1,40}$/

/** How many headers of SDKs one preflight may ask for. */
const MAX_SDK_HEADERS = 30

/** For how long a browser remembers a preflight, in seconds: two hours, the most that Chromium takes. */
const MAX_AGE_SECONDS = '7200'

/** What lets a page of any origin read an answer of `/v1`. */
export const ORIGIN_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS.join(', '),
} as const

/**
 * Lets pages of any origin read the answers of `/v1`, errors too, and answers their preflights with 204.
 * @returns whether the request was one, and is answered.
 */
export function allowOrigins(ctx: Context): boolean {
  if (!isOpenToOrigins(ctx.path)) return false
  ctx.res.setHeader('Access-Control-Allow-Origin', ORIGIN_HEADERS['Access-Control-Allow-Origin'])
  if (isPreflight(ctx)) {
    answerPreflight(ctx)
    return true
  }
  ctx.res.setHeader('Access-Control-Expose-Headers', ORIGIN_HEADERS['Access-Control-Expose-Headers'])
  return false
}

const isPreflight = (ctx: Context): boolean =>
  ctx.method === 'OPTIONS' && (ctx.get('origin') !== '' || ctx.get('access-control-request-method') !== '')

function answerPreflight(ctx: Context): void {
  const asked = ctx
    .get('access-control-request-headers')
    .split(',')
    .map((name) => name.trim().toLowerCase())
  const ofSdks = asked.filter((name) => SDK_HEADER.test(name)).slice(0, MAX_SDK_HEADERS)
  ctx.set({
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': [...REQUEST_HEADERS, ...ofSdks].join(', '),
    'Access-Control-Max-Age': MAX_AGE_SECONDS,
    Vary: 'Access-Control-Request-Headers',
  })
  ctx.status = 204
}
