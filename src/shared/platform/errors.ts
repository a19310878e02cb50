/**
 * The catalogue of error codes: each with its HTTP status and its public message (docs/api/errors.md). Pure: imports
 * nothing.
 */

type Entry = { status: number; message: string }

const CATALOGUE = {
  invalid_json: { status: 400, message: 'The request body must be a JSON object.' },
  invalid_request: { status: 400, message: 'One of the request fields is not valid.' },
  unsupported_model: { status: 400, message: 'This model does not exist, or this endpoint does not serve it.' },
  invalid_prompt: { status: 400, message: 'prompt is required and must be at most 2,000 characters.' },
  invalid_messages: { status: 400, message: 'messages is required and must be a non-empty list of messages.' },
  context_length_exceeded: { status: 400, message: 'The messages are longer than this model takes.' },
  previous_response_not_found: { status: 400, message: 'An earlier response that this request names was not found.' },
  content_policy: { status: 400, message: 'The content of this request is not served.' },
  upstream_refused: { status: 400, message: "The model's provider refused this request." },
  invalid_email: { status: 400, message: 'This e-mail address is not valid.' },
  password_too_short: { status: 400, message: 'The password must be at least 8 characters long.' },
  password_too_long: { status: 400, message: 'The password must be at most 72 characters long.' },
  password_needs_letter_and_digit: {
    status: 400,
    message: 'The password must contain at least one letter and one digit.',
  },
  wrong_password: { status: 400, message: 'The current password is wrong.' },
  invalid_token: { status: 400, message: 'This link is invalid, has expired or has already been used.' },
  already_verified: { status: 400, message: 'This e-mail address is already verified.' },
  mail_failed: { status: 400, message: 'The e-mail could not be sent.' },
  invalid_amount: { status: 400, message: 'This amount cannot be paid or refunded.' },
  invalid_code: { status: 400, message: 'This code is unknown, has expired or was disabled.' },
  no_card: {
    status: 400,
    message: 'This account has no saved card. Buy credits once and let the payment page save your card.',
  },
  invalid_signature: { status: 400, message: 'The signature of this event is not valid.' },
  unauthorized: { status: 401, message: 'The API key or session token is missing, unknown, expired or revoked.' },
  invalid_credentials: { status: 401, message: 'The e-mail address or password is wrong.' },
  invalid_ticket: { status: 401, message: 'This sign-in has expired or ended. Begin again.' },
  insufficient_credits: { status: 402, message: 'The balance is too low for this call. Nothing was charged.' },
  key_budget_exceeded: { status: 402, message: 'The budget of this key is spent. Nothing was charged.' },
  member_budget_exceeded: { status: 402, message: 'Your budget in this account is spent. Nothing was charged.' },
  credits_in_use: {
    status: 402,
    message: 'The credits for this call are held by calls that run. Nothing was charged; try again shortly.',
  },
  ip_not_allowed: { status: 403, message: 'This key may not be used from this IP address.' },
  model_not_allowed: { status: 403, message: 'This key may not call this model.' },
  account_suspended: { status: 403, message: 'This account is suspended.' },
  email_unverified: { status: 403, message: 'Verify your e-mail address first.' },
  second_factor_required: { status: 403, message: 'Set up a second factor first: this service requires one.' },
  proof_required: { status: 403, message: 'Confirm that it is you: enter your password or a code, or sign in again.' },
  forbidden: { status: 403, message: 'This account is not allowed to do that.' },
  model_not_found: {
    status: 404,
    message: 'There is no such model, or this key may not call it: see GET /v1/models.',
  },
  not_found: { status: 404, message: 'There is nothing at this address.' },
  method_not_allowed: { status: 405, message: 'This path does not support this method.' },
  too_many_passkeys: { status: 409, message: 'You have 20 passkeys, the most: remove one first.' },
  identity_taken: { status: 409, message: 'This account at the provider is connected to somebody already.' },
  last_sign_in: { status: 409, message: 'This is your last way to sign in: add another one first.' },
  email_taken: { status: 409, message: 'An account with this e-mail address already exists.' },
  conflict: { status: 409, message: 'Somebody else has changed this in the meantime. Your request changed nothing.' },
  too_many_keys: { status: 409, message: 'You can have at most 100 active keys of an account. Revoke one first.' },
  already_member: { status: 409, message: 'This person is a member already.' },
  last_owner: { status: 409, message: 'An account always has an owner.' },
  too_many_webhooks: { status: 409, message: 'There can be at most 10 webhooks. Delete one first.' },
  not_ready: { status: 409, message: 'The video is not ready yet.' },
  code_used: { status: 409, message: 'This code has already been used.' },
  credits_spent: { status: 409, message: 'Some credits of this payment are already spent.' },
  result_expired: { status: 410, message: 'The result of this call has expired.' },
  payload_too_large: { status: 413, message: 'The request body is too large.' },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as application/json in UTF-8, without a Content-Encoding.',
  },
  idempotency_conflict: { status: 422, message: 'This Idempotency-Key was already used with a different request.' },
  price_above_limit: {
    status: 422,
    message: 'This call would be charged more than X-Max-Credits allows. Nothing was charged.',
  },
  price_changed: {
    status: 422,
    message: 'The price of this model is no longer the one that X-Price-Version names. Nothing was charged.',
  },
  upgrade_required: {
    status: 426,
    message: 'This gateway has no WebSockets: send the request over HTTP, with "stream": true for a stream.',
  },
  rate_limited: { status: 429, message: 'Too many requests. Try again later.' },
  upstream_rate_limited: { status: 429, message: "The model's provider takes no more requests for now." },
  internal_error: { status: 500, message: 'Something went wrong on our side.' },
  upstream_failed: { status: 502, message: 'The upstream failed. The credits charged for this call were refunded.' },
  upstream_unavailable: { status: 503, message: 'No upstream is configured for this model.' },
  payments_unavailable: {
    status: 503,
    message: 'The payment provider is not available right now. Nothing was paid; try again shortly.',
  },
  upstream_overloaded: { status: 503, message: "The model's provider is overloaded." },
  overloaded: { status: 503, message: 'The service is overloaded. Nothing was charged; try again shortly.' },
  service_unavailable: { status: 503, message: 'Part of the service is unavailable right now. Nothing was charged.' },
} as const satisfies Record<string, Entry>

/** Every code that clients can get as `error.type` (gateway) or `error` (console). */
export type ErrorCode = keyof typeof CATALOGUE

/** Whether a text is a code of the catalogue: a schema may name one as its message. */
export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(CATALOGUE, text)

/** The HTTP status that belongs to a code. */
export const statusOf = (code: ErrorCode): number => CATALOGUE[code].status

/** The public message of a code, unless an error has a more specific one. */
export const messageOf = (code: ErrorCode): string => CATALOGUE[code].message

/** The HTTP status of success. */
export const SUCCESS = 200

/** All codes. */
export const errorCodes = (): ErrorCode[] => Object.keys(CATALOGUE) as ErrorCode[]

/** Details of an error. `message` and `param` reach the client: nothing internal belongs in them. */
export type ErrorDetails = {
  /** One public sentence; the code's own message if absent. */
  message?: string
  /** The path of the field at fault. */
  param?: string
  /** For 429 and 503: after how many whole seconds to try again. */
  retryAfterSeconds?: number
  /** For clients of the gateway's own form: the code that they get instead. */
  shownAs?: ErrorCode
  /** For a budget: when it resets; null for never. */
  resetsAt?: string | null
  /** Further response headers, such as `Allow`. */
  headers?: Record<string, string>
  /** Further fields of a console answer, as declared in the schema of its code. */
  more?: Record<string, unknown>
  /** For the log only; never serialized. */
  cause?: unknown
}

/** An expected failure, answered with its code. Everything else that is thrown becomes `internal_error`. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly param: string | null
  readonly retryAfterSeconds: number | null
  readonly shownAs: ErrorCode
  readonly resetsAt: string | null | undefined
  readonly headers: Record<string, string>
  readonly more: Record<string, unknown>

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? messageOf(code), { cause: details.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = statusOf(code)
    this.param = details.param ?? null
    this.retryAfterSeconds = details.retryAfterSeconds ?? null
    this.shownAs = details.shownAs ?? shownCodeOf(code)
    this.resetsAt = details.resetsAt
    this.headers = details.headers ?? {}
    this.more = details.more ?? {}
  }
}

/** The codes that the gateway's own form has no word for, and what its clients get instead. */
const SHOWN_AS: Partial<Record<ErrorCode, ErrorCode>> = { credits_in_use: 'insufficient_credits' }

/** The code of the gateway's own form for this code. */
export const shownCodeOf = (code: ErrorCode): ErrorCode => SHOWN_AS[code] ?? code

/** The codes that OpenAI's clients expect, where they differ from ours. */
export const CODES_OF_OPENAI: Partial<Record<ErrorCode, string>> = { content_policy: 'content_policy_violation' }

/**
 * The object under `error` in a gateway answer, in the form that OpenAI SDKs read. `retryAfterSeconds`: of a call that
 * failed and may be sent again, after how many whole seconds.
 */
export type GatewayError = {
  type: ErrorCode
  message: string
  param: string | null
  code: string
  retryAfterSeconds?: number
}

/** The gateway's error object of a code. */
export const gatewayError = (
  code: ErrorCode,
  message = messageOf(code),
  param: string | null = null,
): GatewayError => ({ type: code, message, param, code: CODES_OF_OPENAI[code] ?? code })

/** Seconds after which a 503 may be tried again if nothing better is known. */
export const RETRY_SECONDS = 2

/** What passes on its own: of an upstream if it certainly accepted nothing. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'credits_in_use',
  'rate_limited',
  'overloaded',
  'service_unavailable',
  'upstream_rate_limited',
  'upstream_overloaded',
])

/**
 * Whether an SDK should send the request again (`X-Should-Retry`): not after the workers' own retries of what an
 * upstream may have billed, and not if the answer would be the same.
 */
export const shouldRetry = (code: ErrorCode): boolean => PASSING.has(code)
