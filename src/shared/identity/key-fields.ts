/**
 * The name and the limits of a key as they come from outside: from the console, from operators and from the command
 * line.
 */
import { z } from 'zod'
import { MODALITIES } from '../terms/kinds.ts'
import { parseRange } from '../platform/net/networks.ts'
import { PERIODS } from './budgets.ts'
import { maxOutstanding, tokensPerMinute } from './account-limits.ts'
import { label, isStorable } from '../platform/text-fields.ts'

/** The most elements of each list. */
const MAX_MODELS = 100
const MAX_RANGES = 50

/** The longest id of a model that a key may name, in characters. */
const MAX_MODEL_LENGTH = 200

const unique = <T>(values: T[]): T[] => [...new Set(values)]

const listed = <T extends z.ZodType>(element: T, most: number) =>
  z
    .array(element)
    .min(1, 'must not be empty; null lifts the limit')
    .max(most, `must have at most ${most} elements`)
    .transform(unique)

const model = z.string().min(1).max(MAX_MODEL_LENGTH).refine(isStorable, 'is not a model id')

const range = z.string().transform((text, context): string => {
  const parsed = parseRange(text)
  if (parsed !== null) return parsed
  context.addIssue({
    code: 'custom',
    message: 'must be an IP address or a range in CIDR notation, such as 203.0.113.0/24',
  })
  return z.NEVER
})

const expiry = z.iso
  .datetime({ offset: true, error: 'must be a time with its zone, such as 2030-01-31T12:00:00Z' })
  .refine((text) => text < '3000', 'must be before the year 3000')
  .transform((text) => new Date(text))
  .refine((at) => at.getTime() > Date.now(), 'must be in the future')

/** A budget of a key, or of a member. */
export const budget = z.object({
  credits: z.int().min(0).meta({ description: 'Credits; 0 allows nothing.' }),
  period: z.enum(PERIODS).meta({
    description:
      'A day, a week (from Monday) or a month in UTC, or all time. All calls of the key (or member) in it count.',
  }),
})

/** The name of a key. */
export const keyName = label(60).meta({
  description: 'A name to recognize it by: one line of 1 to 60 characters.',
  examples: ['laptop'],
})

/** What a key may be limited to. null: no limit of this kind. */
export const keyLimitFields = {
  models: listed(model, MAX_MODELS)
    .nullish()
    .meta({ description: 'The models that it may call.', examples: [['sandbox-chat']] }),
  modalities: listed(z.enum(MODALITIES), MODALITIES.length)
    .nullish()
    .meta({ description: 'The modalities that it may call.' }),
  allowedIps: listed(range, MAX_RANGES)
    .nullish()
    .meta({
      description: 'The addresses that it may be used from, as ranges in CIDR notation.',
      examples: [['203.0.113.0/24', '2001:db8::/48']],
    }),
  expiresAt: expiry.nullish().meta({ description: 'From then on it is refused.' }),
  rateLimit: z.int().min(1).nullish().meta({ description: "Requests a minute, at most the account's." }),
  maxOutstanding: maxOutstanding.nullish().meta({ description: 'Calls that have not ended.' }),
  tokensPerMinute: tokensPerMinute.nullish().meta({ description: 'Tokens of its calls in a window of a minute.' }),
  budget: budget.nullish().meta({ description: 'The most credits that its calls may cost in a period.' }),
}
