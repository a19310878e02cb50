/**
 * The one place that says what a failed request means (the kinds of `UpstreamError`). Every protocol's errors come
 * through here: a mistake in a second place would be a second bill.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isWord } from '../../shared/infra/log.ts'
import type { FailureKind, UpstreamUsage } from './adapter.ts'
import { UpstreamError } from './adapter.ts'
import { asFields, isText } from './fields.ts'
import type { Fields } from './fields.ts'
import type { StopSignal } from '../stop.ts'

/** The longest pause that an upstream may ask for, in ms: beyond it a call would rather fail. */
const MAX_RETRY_AFTER_MS = 60_000

/** Characters of an upstream's own words that are kept. */
const MAX_QUOTE = 300

/**
 * Codes and types under which 429 (or any other status) means spent credit rather than a passing limit: the same
 * answer would come again. Sources: OpenAI's and Anthropic's lists of error codes.
 */
const QUOTA = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
  'enforced_spend_limit_reached',
  'contract_spend_limit_reached',
  'insufficient_credits',
])

/** Types and codes of errors that come without an HTTP status of their own: inside a stream, or in an answer of 200. */
const WORDS: Readonly<Record<string, FailureKind>> = {
  rate_limit_error: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
  slow_down: 'rate_limited',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  invalid_request_error: 'rejected',
  authentication_error: 'rejected',
  permission_error: 'rejected',
  not_found_error: 'rejected',
  request_too_large: 'rejected',
}

/** Errors of the connector: whatever failed there, no byte of a request had left. */
const connectErrors = new WeakSet<Error>()

/** Remembers that this error is one of connecting: DNS, refusal, time-out, TLS handshake. */
export function markConnectError(error: Error): void {
  connectErrors.add(error)
}

/** What a status means where the error's own words do not say more. */
function kindOfStatus(status: number): FailureKind {
  if (status === 429) return 'rate_limited'
  if (status === 503 || status === 529) return 'overloaded'
  return status >= 500 ? 'unknown' : 'rejected'
}

/** The failure that an HTTP answer other than 2xx is. `body` is its text, JSON or not. */
export function statusFailure(status: number, headers: IncomingHttpHeaders, body: string): UpstreamError {
  const error = errorOf(parsed(body))
  const words = wordsOf(error)
  const kind = words.some((word) => QUOTA.has(word)) ? 'rejected' : kindOfStatus(status)
  const falType = headers['x-fal-error-type']
  return new UpstreamError(kind, `HTTP ${status}${inBrackets(words)}`, {
    status,
    retryAfterMs: kind === 'rejected' ? null : retryAfterMs(headers),
    code: isText(falType) ? falType : words[0],
    type: textIn(error.type),
    said: quote(messageIn(error) ?? body),
  })
}

/**
 * The failure that an error object inside a stream or an answer of 200 is; null where `body` holds none. OpenRouter
 * puts an HTTP status into `code`, the others words.
 */
export function failureIn(body: unknown): UpstreamError | null {
  const error = asFields(body).error
  if (error === undefined || error === null || error === false) return null
  const words = wordsOf(errorOf(body))
  const code = Number(asFields(error).code)
  const known = words.map((word) => WORDS[word]).find((kind) => kind !== undefined)
  const byCode = Number.isInteger(code) && code >= 400 && code < 600 ? kindOfStatus(code) : 'unknown'
  const kind = words.some((word) => QUOTA.has(word)) ? 'rejected' : (known ?? byCode)
  const said = messageIn(errorOf(body)) ?? JSON.stringify(error)
  return new UpstreamError(kind, `an error in the answer${inBrackets(words)}`, {
    code: words[0],
    type: textIn(asFields(error).type),
    said: quote(said),
  })
}

/**
 * The failure of a task whose status says that it has failed. `status` is a word that the adapter knows; `error` is a
 * text, an object with a message, or missing.
 */
export function taskFailure(status: string, error: unknown, type?: unknown): UpstreamError {
  const { message, code } = asFields(error)
  const words = [type, code].filter(isText)
  const said = [error, message, code].find(isText)
  return new UpstreamError('rejected', `the task has ended: ${status}${inBrackets(words)}`, {
    code: words[0],
    said: said === undefined ? null : quote(said),
  })
}

const textIn = (value: unknown): string | null => (isText(value) ? value : null)

/** The words that may be logged, behind a sentence. */
function inBrackets(words: string[]): string {
  const known = words.filter(isWord)
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}

/** An answer that makes no sense: it may have been billed. `cause` must not quote it. */
export const malformedAnswer = (message: string, cause?: unknown): UpstreamError =>
  new UpstreamError('unknown', message, { cause })

/** Runs `read` on an answer that has reported this usage: where it makes no sense, it was billed all the same. */
export function billed<T>(usage: UpstreamUsage | null, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof UpstreamError) error.usage = usage
    throw error
  }
}

/** The failure behind whatever was thrown while a request was made or its answer read. */
export function transportFailure(error: unknown, signal: StopSignal): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (signal.aborted) {
    return new UpstreamError(isTimeout(signal.reason) ? 'late' : 'aborted', 'ended by ourselves', { cause: error })
  }
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = [code, message].filter((part) => typeof part === 'string').join(': ') || String(error)
  if (error instanceof Error && connectErrors.has(error)) return new UpstreamError('not_sent', text, { cause: error })
  // A request that undici refuses to make: a header that cannot be sent, for one.
  if (code === 'UND_ERR_INVALID_ARG') return new UpstreamError('rejected', text, { cause: error })
  return new UpstreamError('unknown', text, { cause: error })
}

/**
 * Whether a signal's reason is that time was over: `AbortSignal.timeout` names it so, and so does a call's deadline.
 */
const isTimeout = (reason: unknown): boolean => reason instanceof Error && reason.name === 'TimeoutError'

/** How long an answer's headers ask to wait, in ms, at most MAX_RETRY_AFTER_MS; null where they do not. */
export function retryAfterMs(headers: IncomingHttpHeaders, now = Date.now()): number | null {
  const ms = Number.parseFloat(String(headers['retry-after-ms'] ?? ''))
  const asked = Number.isFinite(ms) ? ms : pauseOf(String(headers['retry-after'] ?? ''), now)
  return asked === null ? null : Math.min(Math.max(0, Math.ceil(asked)), MAX_RETRY_AFTER_MS)
}

function pauseOf(header: string, now: number): number | null {
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1000
  // Date.parse takes nearly anything, `-5` too, for a date; an HTTP date begins with its day's name.
  const date = /^[a-z]{3},/i.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? null : date - now
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The object that describes the error, in whichever envelope: `{error: {…}}`, `{error: "…"}`, `{detail: …}`. */
function errorOf(body: unknown): Fields {
  const fields = asFields(body)
  return typeof fields.error === 'object' ? asFields(fields.error) : fields
}

function wordsOf(error: Fields): string[] {
  const details = asFields(error.details)
  const candidates = [error.code, error.type, error.reason, details.error_code, details.code, details.type]
  return candidates.filter((word) => typeof word === 'string')
}

function messageIn(error: Fields): string | null {
  const { message, detail, error: text } = error
  return [message, detail, text].find(isText) ?? (detail === undefined ? null : JSON.stringify(detail))
}

const quote = (text: string): string => (text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}…` : text)
