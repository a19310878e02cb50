/**
 * The one place that defines what a failed request means (the kinds of `UpstreamError`). Every protocol's errors come
 * through here: a mistake in a second place would be a second bill.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { saysAnything } from '../../shared/chat/deltas.ts'
import { isWord } from '../../shared/platform/process/log.ts'
import type { CustomersFault, FailureKind, KeyFault } from './adapter.ts'
import { UpstreamError } from './adapter.ts'
import { limitEndsInMs, retryAfterMs, withRetryInfo } from './pauses.ts'
import { asFields, isFields, isText, listOf, objectOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The most characters of an upstream's own words. */
const MAX_QUOTE = 300

/**
 * Codes and types, in lower case, under which any status means spent credit rather than a passing limit. Sources: the
 * lists of error codes of OpenAI, Anthropic, Moonshot, Zhipu (1113), MiniMax (1008), DashScope, Volcengine and new-api.
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
  'insufficient_balance',
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
  'exceeded_current_quota_error',
  'arrearage',
  'accountoverdueerror',
  'payment_required',
  'billing_disabled',
  '1113',
  '1008',
])

/** Codes, in lower case, under which any status means that the key is refused: reasons and a status of Google's. */
const REFUSED_KEY = /^(api_key_\w+|consumer_suspended|service_disabled|failed_precondition)$/

/** Sentences about spent credit under codes of many meanings. */
const QUOTA_SENTENCE =
  /credit balance is too low|insufficient (account )?balance|balance is (used up|insufficient)|余额不足|欠费/i

/** Codes and types, in lower case, of a request that is longer than its model takes. */
const TOO_LONG = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'request_too_large',
  'tokens_limit_reached',
  '1261',
  '1039',
])

const TOO_LONG_SENTENCE = new RegExp(
  [
    'context (length|window|size)',
    '(prompt|input|messages?|request) (is|are|was) too (long|large)',
    'too many (input |prompt )?tokens',
    'maximum (prompt|input|sequence) length',
    'token (count|limit)\\b.*(exceed|:)',
    'range of input length',
    'reduce (the|your) (length|prompt|messages)',
    'exceeds? (the )?context limit',
  ].join('|'),
  'i',
)

/** Codes and types, in lower case, of a content that a vendor does not serve. */
const OF_CONTENT = new Set([
  'content_policy_violation',
  'content_policy',
  'content_filter',
  'content_filtered',
  'content_moderation',
  'responsibleaipolicyviolation',
  'moderation_blocked',
  'moderation_error',
  'data_inspection_failed',
  'datainspectionfailed',
  'sensitive_words_detected',
  'sensitivecontentdetected',
  'inputtextsensitivecontentdetected',
  'outputimagesensitivecontentdetected',
  'prompt_blocked',
  'safety_violation',
  'invalid_prompt',
  '1301',
  '1026',
  '1027',
])

const OF_CONTENT_SENTENCE = new RegExp(
  [
    'content (management )?policy',
    'content filter',
    'safety (system|polic|filter)',
    'flagged (for|as|by)',
    'moderation',
    'usage polic',
    '(inappropriate|sensitive|unsafe|harmful) (content|words?)',
    'content violates',
    'content exists risk',
    'blocked (due to|by) safety',
    'prohibited_content',
  ].join('|'),
  'i',
)

/** Statuses whose sentences are read: others speak of the upstream and not of the request. */
const OF_REQUEST: ReadonlySet<number | null> = new Set([null, 400, 403, 413, 422, 451])

/** Types and codes of errors that come without an HTTP status of their own: inside a stream, or in an answer of 200. */
const WORDS: Readonly<Record<string, FailureKind>> = {
  rate_limit_error: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
  slow_down: 'rate_limited',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  invalid_request_error: 'rejected',
  request_too_large: 'rejected',
  authentication_error: 'not_served',
  permission_error: 'not_served',
  not_found_error: 'not_served',
  invalid_api_key: 'not_served',
  model_not_found: 'not_served',
  resource_exhausted: 'rate_limited',
  unavailable: 'overloaded',
  unauthenticated: 'not_served',
  permission_denied: 'not_served',
  invalid_argument: 'rejected',
}

/** Reasons to finish that are failures: `error`, z.AI's `network_error`, DeepSeek's, SGLang's `abort` and the like. */
const FAILED_END = /error|^abort|^fail|^time_?out|insufficient_system_resource/i

/** Fields under which answers and events come. */
const OF_ANSWERS = ['choices', 'usage', 'data', 'images', 'content', 'delta', 'output', 'content_block', 'candidates']

/** The names of codes and sentences in an object that is an error without such a label. */
const NAMES_OF_ERRORS = ['code', 'message', 'error_code', 'error_msg', 'error_message', 'msg', 'detail']

/** Errors of the connector: no byte of a request was sent. */
const connectErrors = new WeakSet<Error>()

/** Remembers that this error is one of connecting: DNS, refusal, time-out, TLS handshake. */
export function markConnectError(error: Error): void {
  connectErrors.add(error)
}

/** What a status means if the error's own words are not more specific. */
function kindOfStatus(status: number): FailureKind {
  if (status === 429) return 'rate_limited'
  if (status === 503 || status === 529) return 'overloaded'
  if (status >= 401 && status <= 404) return 'not_served'
  return status >= 500 ? 'unknown' : 'rejected'
}

type Meaning = { kind: FailureKind; fault?: CustomersFault; keyFault?: KeyFault }

/** What an error means for the request, or for the credit that pays it; null if it concerns neither. */
function meaningOf(error: Fields, status: number | null): Meaning | null {
  const words = wordsOf(error).map((word) => word.toLowerCase())
  const sentence = OF_REQUEST.has(status) ? (messageIn(error) ?? '') : ''
  const says = (codes: ReadonlySet<string>, pattern: RegExp, text = sentence): boolean =>
    words.some((word) => codes.has(word)) || pattern.test(text)
  if (says(QUOTA, QUOTA_SENTENCE, messageIn(error) ?? '')) return { kind: 'not_served', keyFault: 'empty' }
  if (status === 429 || words.some((word) => WORDS[word] === 'rate_limited')) return null
  if (words.some((word) => REFUSED_KEY.test(word))) return { kind: 'not_served', keyFault: 'refused' }
  if (says(OF_CONTENT, OF_CONTENT_SENTENCE)) return { kind: 'rejected', fault: 'content_policy' }
  if (status === 413 || says(TOO_LONG, TOO_LONG_SENTENCE)) return { kind: 'rejected', fault: 'context_length_exceeded' }
  return null
}

/** What a 404 may be about that is not a model: a customer can name what does not exist. */
const OF_ANOTHER_THING =
  /\b(file|image|picture|response|item|conversation|document|container|video|url|tool|prompt)s?\b/i

/** What a refusal shows of the key; null if nothing. @param status of HTTP, or as the answer states it */
function keyFaultOf(kind: FailureKind, status: number | null, error: Fields): KeyFault | null {
  if (kind === 'rate_limited') return 'limited'
  if (kind !== 'not_served') return null
  const words = wordsOf(error).map((word) => word.toLowerCase())
  const isMissing = status === 404 || (status === null && /not_found/.test(words.join(' ')))
  if (status === 402) return 'empty'
  if (!isMissing) return 'refused'
  const sentence = messageIn(error) ?? ''
  const isOfModel = words.includes('model_not_found') || /\bmodel\b/i.test(sentence) || !OF_ANOTHER_THING.test(sentence)
  return isOfModel ? 'no_model' : null
}

/** The failure that an HTTP answer other than 2xx is. `body` is its text, JSON or not. */
export function statusFailure(status: number, headers: IncomingHttpHeaders, body: string): UpstreamError {
  const error = errorOf(objectOf(body))
  const words = wordsOf(error)
  const asked = withRetryInfo(headers, error)
  const meaning = meaningOf(error, status)
  const kind = meaning?.kind ?? kindOfStatus(status)
  const falType = headers['x-fal-error-type']
  return new UpstreamError(kind, `HTTP ${status}${inBrackets(words)}`, {
    status,
    retryAfterMs: kind === 'rejected' || kind === 'not_served' ? null : retryAfterMs(asked),
    keyFault: meaning?.keyFault ?? keyFaultOf(kind, status, error),
    resetMs: kind === 'rate_limited' ? limitEndsInMs(asked) : null,
    code: isText(falType) ? falType : words[0],
    type: textIn(error.type),
    said: quote(messageIn(error) ?? body),
    fault: meaning?.fault,
  })
}

/**
 * The failure that is in an event or in an answer of 200, in any form (docs/upstreams/answers.md#errors), or
 * null. OpenRouter puts an HTTP status into `code`, the others words.
 * @param event the name of the event
 */
export function failureIn(body: unknown, event?: string): UpstreamError | null {
  const found = errorAt(asFields(body), event)
  if (found === null) return null
  const error = errorOf(isFields(found) ? found : { error: found })
  const words = wordsOf(error)
  const known = words.map((word) => WORDS[word.toLowerCase()]).find((kind) => kind !== undefined)
  const code = words.map(Number).find((word) => Number.isInteger(word) && word >= 400 && word < 600) ?? null
  const meaning = meaningOf(error, code)
  const kind = meaning?.kind ?? known ?? (code === null ? 'unknown' : kindOfStatus(code))
  return new UpstreamError(kind, `an error in the answer${inBrackets(words)}`, {
    keyFault: meaning?.keyFault ?? keyFaultOf(kind, code, error),
    retryAfterMs: retryAfterMs(withRetryInfo({}, error)),
    code: words[0],
    type: textIn(error.type),
    said: quote(messageIn(error) ?? JSON.stringify(found)),
    fault: meaning?.fault,
  })
}

/** An answer of 2xx that reports no failure. @throws UpstreamError the failure that it reports */
export function unfailed(answer: Fields): Fields {
  const failure = failureIn(answer)
  if (failure) throw failure
  return answer
}

/** The part of a body that reports a failure; null where none does. */
function errorAt(body: Fields, event?: string): unknown {
  const isAnswer = OF_ANSWERS.some((name) => body[name] !== undefined && body[name] !== null)
  const { error, errors, base_resp: base } = body
  if (saysAnything(error)) return { error }
  if (event === 'error' || body.object === 'error' || body.type === 'error') return body
  // MiniMax answers 200 to everything.
  if (Number(asFields(base).status_code) > 0) {
    return { code: String(asFields(base).status_code), message: asFields(base).status_msg }
  }
  if (!isAnswer) {
    if (isFields(error)) return { error }
    if (Array.isArray(errors) && saysAnything(errors)) return { error: errors[0] as unknown }
    // Events hold objects under such names, which are none.
    return NAMES_OF_ERRORS.some((name) => !isFields(body[name]) && saysAnything(body[name])) ? body : null
  }
  const choices = Array.isArray(body.choices) ? body.choices.map(asFields) : []
  const failed = choices.find((choice) => saysAnything(choice.error))
  if (failed) return { error: failed.error }
  const end = choices.map(({ finish_reason: reason }) => reason).find((one) => isText(one) && FAILED_END.test(one))
  return end === undefined ? null : { error: { code: end } }
}

/**
 * The failure of a task with a status of failure. `status` is a word that the adapter knows; `error` is a
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

/** The words that may be logged, to follow a sentence. */
function inBrackets(words: string[]): string {
  const known = words.filter(isWord)
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}

/** An answer that makes no sense: it may have been billed. `cause` must not quote it. */
export const malformedAnswer = (message: string, cause?: unknown): UpstreamError =>
  new UpstreamError('unknown', message, { cause })

/** The failure that an error means which was thrown while a request was sent or its answer read. */
export function transportFailure(error: unknown, signal: AbortSignal): UpstreamError {
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

/** The object that describes the error, in whichever envelope: `{error: {…}}`, `{error: "…"}`, `{detail: …}`. */
function errorOf(body: unknown): Fields {
  const fields = asFields(body)
  return typeof fields.error === 'object' ? asFields(fields.error) : fields
}

function wordsOf(error: Fields): string[] {
  const details = asFields(error.details)
  const candidates = [
    error.code,
    error.error_code,
    error.type,
    error.reason,
    error.status,
    details.error_code,
    details.code,
    details.type,
    ...listOf(error.details).map(({ reason }) => reason),
  ]
  return candidates.flatMap((word) => (isText(word) || typeof word === 'number' ? [String(word)] : []))
}

function messageIn(error: Fields): string | null {
  const { message, detail, error: text, msg, error_msg: words, error_message: sentence } = error
  return (
    [message, detail, text, msg, words, sentence].find(isText) ?? (detail === undefined ? null : JSON.stringify(detail))
  )
}

const quote = (text: string): string => (text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}…` : text)
