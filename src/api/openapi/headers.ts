/**
 * The headers of answers.
 */
import { z } from 'zod'

/** On every answer. */
export const commonHeaders = z.object({
  'X-Request-Id': z.string().meta({
    description: 'The id of this request: your own, if you sent one of at most 128 letters, digits and `._:+/=@-`.',
  }),
})

/** On 429 and 503. */
export const retryHeaders = z.object({
  'Retry-After': z.int().optional().meta({ description: 'When to try again, in whole seconds.' }),
})
