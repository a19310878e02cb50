/** Groups of customers, as the catalogue has them (docs/pricing.md#groups). */
import { z } from 'zod'
import { WHOLE_PRICE } from '../terms/pricing.ts'

/** The most groups of a catalogue. */
const MAX_GROUPS = 100

/** What lifts an account out of its group: no group is named so. */
export const NO_GROUP = 'none'

/** What a group may be named. */
const groupName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/,
    'must be 1 to 50 letters, digits, ".", "_" and "-", a letter or digit first',
  )
  .refine((name) => name.toLowerCase() !== NO_GROUP, `must not be "${NO_GROUP}"`)

/** The limits of each account of a group; the usual ones if absent. */
export type GroupLimits = { rateLimit?: number | undefined; maxOutstanding?: number | undefined }

const group = z.strictObject({
  /** What its accounts pay of every price, in ten-thousandths. */
  priceBasisPoints: z.int().min(1).max(100_000).default(WHOLE_PRICE),
  /** The ids of the models that its accounts may see; all if absent. */
  models: z.array(z.string()).min(1).optional(),
  /** Requests a minute. */
  rateLimit: z.int().min(1).max(1_000_000_000).optional(),
  /** Calls that have not ended. */
  maxOutstanding: z.int().min(1).max(1_000_000).optional(),
})

/** The groups of a catalogue, by their names. */
export const groupsSchema = z
  .record(groupName, group)
  .refine((groups) => Object.keys(groups).length <= MAX_GROUPS, `must be at most ${MAX_GROUPS} groups`)
  .default({})
