/** Errors in the form of Gemini's API, which is that of Google's: a status, its name, and details. */
import { z } from 'zod'
import type { ErrorCode } from '../../platform/errors.ts'
import { statusOf as ownStatusOf } from '../../platform/errors.ts'
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ErrorForm, ShownError } from '../definition.ts'

/** The codes whose status is another one in Gemini's API. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  unsupported_model: 404,
  model_not_allowed: 404,
  insufficient_credits: 429,
  credits_in_use: 429,
  key_budget_exceeded: 429,
  member_budget_exceeded: 429,
}

/** Google's names of statuses; of others `INVALID_ARGUMENT`. */
const NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  410: 'NOT_FOUND',
  422: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
}

/** The HTTP status of a code in Gemini's API: a spent balance is a quota there. */
const statusOf = (code: ErrorCode): number => STATUSES[code] ?? ownStatusOf(code)

const nameOf = (status: number): string => NAMES[status] ?? 'INVALID_ARGUMENT'

/** The detail that names the error. */
const INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
/** The detail that has the time of the next try. */
const RETRY = 'type.googleapis.com/google.rpc.RetryInfo'

/** Gemini CLI gives up on what it is to wait for so long, and sends everything else again, in seconds. */
const A_DAY = 86_400

/** What no waiting helps against. */
const SPENT: ReadonlySet<ErrorCode> = new Set(['insufficient_credits', 'key_budget_exceeded', 'member_budget_exceeded'])

/** The body of an error: our own code is the reason among its details. */
function bodyOf({ code, message, param, resetsAt, retryAfterSeconds }: ShownError): object {
  const status = statusOf(code)
  const metadata = { ...(param !== null && { param }), ...(resetsAt && { resetsAt }) }
  const info = {
    '@type': INFO,
    reason: code,
    domain: 'tollgate',
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
  const seconds = retryAfterSeconds ?? (SPENT.has(code) ? A_DAY : null)
  const retry = seconds === null ? [] : [{ '@type': RETRY, retryDelay: `${seconds}s` }]
  return { error: { code: status, message, status: nameOf(status), details: [info, ...retry] } }
}

/** Our own code in an error of this form, and after how many seconds it may be sent again; null of another form. */
export function reasonIn(error: Fields): { code: ErrorCode; retryAfterSeconds: number | undefined } | null {
  const [info, retry] = listOf(error.details)
  if (info?.['@type'] !== INFO) return null
  const seconds = Number.parseInt(String(asFields(retry).retryDelay), 10)
  return { code: info.reason as ErrorCode, retryAfterSeconds: Number.isNaN(seconds) ? undefined : seconds }
}

/** How Gemini's API reports errors. */
export const geminiErrors: ErrorForm = {
  statusOf,
  body: bodyOf,
  stored: ({ type: code, ...error }) => bodyOf({ ...error, code }),
  schema: (codes, { message }) => {
    const statuses = [...new Set(codes.map(statusOf))]
    return z.strictObject({
      error: z.strictObject({
        code: z.literal(statuses),
        message,
        status: z.enum([...new Set(statuses.map(nameOf))] as [string, ...string[]]),
        details: z.array(z.looseObject({ '@type': z.string() })).meta({
          description: 'An `ErrorInfo`, whose `reason` is our own code; a `RetryInfo` where a retry may succeed.',
        }),
      }),
    })
  },
}
