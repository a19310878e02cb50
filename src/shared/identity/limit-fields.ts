/** The limits that accounts and their keys have alike, as they come from outside. */
import { z } from 'zod'

/** The most calls that can be allowed to be open at once. */
const MAX_OPEN = 1_000_000

/** The most requests, and the most tokens, that can be allowed in a minute. */
const MAX_REQUESTS = 1_000_000_000
const MAX_TOKENS = 1_000_000_000_000

/** Calls that have not ended. */
export const maxOutstanding = z.int().min(1).max(MAX_OPEN)

/** Tokens in a window of a minute. */
export const tokensPerMinute = z.int().min(1).max(MAX_TOKENS)

/** What an account may be limited to. null: no limit of its own. */
export const accountLimitFields = {
  rateLimit: z.int().min(1).max(MAX_REQUESTS).nullish().meta({ description: 'Requests a minute.' }),
  maxOutstanding: maxOutstanding.nullish().meta({ description: 'Calls that have not ended.' }),
  tokensPerMinute: tokensPerMinute.nullish().meta({ description: 'Tokens of its calls in a window of a minute.' }),
}
