/** Errors in Anthropic's form. */
import { z } from 'zod'
import type { ErrorCode } from '../../platform/errors.ts'
import { statusOf as ownStatusOf } from '../../platform/errors.ts'
import type { ErrorForm } from '../definition.ts'

/** The codes whose status is another one in Anthropic's form. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  credits_in_use: 429,
  unsupported_model: 404,
  model_not_allowed: 404,
  overloaded: 529,
  upstream_overloaded: 529,
  upstream_unavailable: 529,
}

/** Anthropic's types of errors, by status; of others `invalid_request_error`. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
}

/** The HTTP status of a code in Anthropic's form. */
const statusOf = (code: ErrorCode): number => STATUSES[code] ?? ownStatusOf(code)

/** The type of a code in Anthropic's form. */
export const anthropicTypeOf = (code: ErrorCode): string => TYPES[statusOf(code)] ?? 'invalid_request_error'

/** How the Messages API reports errors. */
export const messagesErrors: ErrorForm = {
  statusOf,
  body: ({ code, message, resetsAt }, requestId) => ({
    type: 'error',
    error: { type: anthropicTypeOf(code), message, ...(resetsAt !== undefined && { resetsAt }) },
    request_id: requestId,
  }),
  stored: ({ type: code, ...error }, callId) => ({
    type: 'error',
    error: { type: anthropicTypeOf(code), ...error },
    request_id: callId,
  }),
  schema: (codes, { message, more }) => {
    const type = z.enum(codes.map(anthropicTypeOf) as [string, ...string[]])
    const error = z.strictObject({ type, message, ...more })
    return z.strictObject({ type: z.literal('error'), error, request_id: z.string() })
  },
  requestIdHeader: 'Request-Id',
}
