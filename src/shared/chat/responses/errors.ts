/** Errors in the form of the Responses API. */
import { z } from 'zod'
import type { ErrorCode } from '../../platform/errors.ts'
import { CODES_OF_OPENAI, statusOf as ownStatusOf } from '../../platform/errors.ts'
import type { ErrorForm } from '../definition.ts'

/** The codes whose status is another one in the Responses API, where OpenAI's own clients check it. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  unsupported_model: 404,
  model_not_allowed: 404,
  insufficient_credits: 429,
  credits_in_use: 429,
  key_budget_exceeded: 429,
  member_budget_exceeded: 429,
  payload_too_large: 400,
}

/** Types of errors in the Responses API, by status; of others `invalid_request_error`, from 500 on `server_error`. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
}

/** The HTTP status of a code in the Responses API: a 402 would be sent again by Codex, a 429 of this type is not. */
const statusOf = (code: ErrorCode): number => STATUSES[code] ?? ownStatusOf(code)

/** The type of a code in the Responses API. */
export function responsesTypeOf(code: ErrorCode): string {
  if (ownStatusOf(code) === 402 && code !== 'credits_in_use') return 'insufficient_quota'
  const status = statusOf(code)
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
}

/** The codes of the Responses API, where they are other words than ours. */
const CODES: Partial<Record<ErrorCode, string>> = {
  ...CODES_OF_OPENAI,
  unsupported_model: 'model_not_found',
  model_not_allowed: 'model_not_found',
  credits_in_use: 'rate_limit_exceeded',
}

/** What the Responses API calls a code in its `code`. */
const codeOf = (code: ErrorCode): string => CODES[code] ?? code

/** How the Responses API reports errors. */
export const responsesErrors: ErrorForm = {
  statusOf,
  body: ({ code, message, param, resetsAt }) => ({
    error: {
      type: responsesTypeOf(code),
      message,
      param,
      code: codeOf(code),
      ...(resetsAt !== undefined && { resetsAt }),
    },
  }),
  stored: ({ type: code, ...error }) => ({ error: { type: responsesTypeOf(code), ...error } }),
  schema: (codes, { message, param, more }) => {
    const type = z.enum(codes.map(responsesTypeOf) as [string, ...string[]])
    const code = z.enum(codes.map(codeOf) as [string, ...string[]])
    return z.strictObject({ error: z.strictObject({ type, message, param, code, ...more }) })
  },
}
