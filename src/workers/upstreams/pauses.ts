/** How long an upstream asks to be left alone, as its refusal states it: in its headers, or as Google in its body. */
import type { IncomingHttpHeaders } from 'node:http'
import { isText, listOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The longest pause that an upstream may ask for, in ms: beyond it a call would rather fail. */
const MAX_RETRY_AFTER_MS = 60_000

/** The headers of a refusal, with the pause that its error asks for (`RetryInfo`): `37.5s`. */
export function withRetryInfo(headers: IncomingHttpHeaders, { details }: Fields): IncomingHttpHeaders {
  const pause = listOf(details)
    .map(({ retryDelay }) => retryDelay)
    .find(isText)
  return pause === undefined ? headers : { 'retry-after': pause.replace(/s$/, ''), ...headers }
}

/** How long an answer's headers ask to wait, in ms, at most MAX_RETRY_AFTER_MS; null where they do not. */
export function retryAfterMs(headers: IncomingHttpHeaders, now = Date.now()): number | null {
  const asked = askedPauseMs(headers, now)
  return asked === null ? null : Math.min(asked, MAX_RETRY_AFTER_MS)
}

/** The whole pause that `Retry-After` asks for, in ms; null without one. */
function askedPauseMs(headers: IncomingHttpHeaders, now: number): number | null {
  const ms = Number.parseFloat(String(headers['retry-after-ms'] ?? ''))
  const asked = Number.isFinite(ms) ? ms : pauseOf(String(headers['retry-after'] ?? ''), now)
  return asked === null ? null : Math.max(0, Math.ceil(asked))
}

/**
 * When a rate limit ends, in ms from now: by `Retry-After`, else by the last `x-ratelimit-reset-…` of a limit of which
 * nothing remains. Null where neither is there.
 */
export function limitEndsInMs(headers: IncomingHttpHeaders, now = Date.now()): number | null {
  const asked = askedPauseMs(headers, now)
  if (asked !== null) return asked
  const resets = Object.entries(headers).flatMap(([name, value]) => {
    const found = /^x-ratelimit-reset(-.+)?$/.exec(name)
    if (!found || Number(headers[`x-ratelimit-remaining${found[1] ?? ''}`] ?? NaN) !== 0) return []
    const ms = resetOf(String(value), now)
    return ms === null ? [] : [Math.max(0, Math.ceil(ms))]
  })
  return resets.length === 0 ? null : Math.max(...resets)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A reset: `1m30.5s`, seconds, a time in Unix seconds or milliseconds, or a date. In ms from now. */
function resetOf(text: string, now: number): number | null {
  const trimmed = text.trim()
  if (/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(trimmed)) {
    const parts = [...trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)]
    return parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit!]!, 0)
  }
  if (/^\d+(\.\d+)?$/.test(trimmed)) {
    const number = Number(trimmed)
    if (number > 1e11) return number - now
    return number > 1e8 ? number * 1000 - now : number * 1000
  }
  const date = Date.parse(trimmed)
  return Number.isNaN(date) ? null : date - now
}

function pauseOf(header: string, now: number): number | null {
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1000
  // Date.parse takes nearly anything, `-5` too, for a date; an HTTP date begins with its day's name.
  const date = /^[a-z]{3},/i.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? null : date - now
}
