/**
 * The headers of answers.
 */
import { z } from 'zod'

/** On every answer. */
export const commonHeaders = z.object({
  'X-Request-Id': z.string().meta({ description: 'The id of this request: your own, where you sent a sane one.' }),
})

/** On 429 and 503. */
export const retryHeaders = z.object({
  'Retry-After': z.int().optional().meta({ description: 'When to try again, in whole seconds.' }),
})

const allowance = {
  'X-RateLimit-Limit-Requests': z.string().meta({ description: 'Requests in a window of 60 s.' }),
  'X-RateLimit-Remaining-Requests': z.string().meta({ description: 'Requests left in this window.' }),
  'X-RateLimit-Reset-Requests': z.string().meta({ description: 'How long this window lasts still, such as `12s`.' }),
}

/** On what counts against the gateway's rate limit. */
export const allowanceHeaders = z.object(allowance)

/** On the answers of calls. */
export const callHeaders = z.object({
  ...allowance,
  'X-Call-Id': z.string().meta({ description: 'The call: see `GET /v1/calls/{id}` and `GET /api/calls/{id}`.' }),
  'Idempotent-Replayed': z.string().optional().meta({ description: '`true`: this request joined an earlier one.' }),
})

/** On 202. */
export const acceptedHeaders = callHeaders.extend({
  Location: z.string().meta({ description: 'Where the answer will be.' }),
  'Preference-Applied': z.string().optional().meta({ description: 'The preference that was honoured (RFC 7240).' }),
})
