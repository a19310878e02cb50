/**
 * Budgets in answers, of keys and of members.
 */
import { z } from 'zod'
import { PERIODS } from '../../shared/identity/budgets.ts'
import { credits, time } from './answer-schemas.ts'

/** A budget, and what is used of it. */
export const shownBudget = z.strictObject({
  credits,
  period: z.enum(PERIODS),
  used: z.int().meta({ description: 'Credits of its calls in this period, pre-charges of open calls included.' }),
  remaining: z.int().meta({ description: 'Credits left; never negative.' }),
  resetsAt: time.nullable().meta({ description: 'When the next period begins; null for `total`.' }),
})
