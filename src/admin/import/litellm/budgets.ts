/** Budgets and limits of litellm, in dollars and periods of their own, as ours. */
import type { z } from 'zod'
import type { PlannedBudget } from '../../../shared/operators/import/plan.ts'
import type { Exact } from '../exact.ts'
import { ZERO } from '../exact.ts'
import { creditsOf } from '../rules.ts'
import type { ImportRules } from '../rules.ts'
import type { Reading } from '../tables.ts'
import { rowsIfAny } from '../tables.ts'
import { BUDGETS } from './tables.ts'

/** A row of the table of budgets, or the same columns of another one. */
export type Limits = Omit<z.output<typeof BUDGETS.schema>, 'budget_id' | 'model_max_budget'>

/** The shared budgets by their ids. */
export async function readBudgets(reading: Reading): Promise<Map<string, Limits>> {
  const budgets = new Map<string, Limits>()
  for await (const { budget_id: id, model_max_budget: byModel, ...limits } of rowsIfAny(reading, BUDGETS)) {
    if (byModel && Object.keys(byModel).length > 0)
      reading.listed.push({ what: 'budget', theirId: id, reason: 'budgets of single models have no counterpart' })
    budgets.set(id, limits)
  }
  return budgets
}

const DURATION = /^(\d{1,6})(mo|s|m|h|d|w|y)$/
const DAYS = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 30, y: 365 }

/** The longest time in days that each period of ours stands for. */
const PERIODS = [
  ['day', 1],
  ['week', 7],
  ['month', 31],
] as const

/** Times that are a period of ours, whatever they are called there. */
const SAME = new Set([1, 7, 28, 30, 31])

/**
 * The period of a budget: the same, or else the next longer one, in which no more can be spent than there.
 * @param list lists one that differs
 */
function periodOf(duration: string | null, list: (reason: string) => void): PlannedBudget['period'] {
  if (duration === null) return 'total'
  const [, count, unit] = DURATION.exec(duration) ?? []
  const days = Number(count) * DAYS[unit as keyof typeof DAYS]
  const period = PERIODS.find(([, most]) => days <= most)?.[0] ?? 'total'
  if (!SAME.has(days)) list(`the period "${duration}" of its budget has no counterpart: the budget is for a ${period}`)
  return period
}

/** A budget with what was spent of it in the running period; null without one. */
export function plannedBudget(
  { max_budget: most, budget_duration: duration, budget_reset_at: resetAt }: Limits,
  spend: Exact | null,
  { rules, now, list }: { rules: ImportRules; now: Date; list: (reason: string) => void },
): PlannedBudget | null {
  if (!most) return null
  const atLeastZero = (dollars: Exact): bigint => {
    const credits = creditsOf(dollars, rules)
    return credits < 0n ? 0n : credits
  }
  // Their proxy begins a period somewhat after its time: what was spent before counts no more.
  const isOver = resetAt !== null && resetAt <= now
  return {
    credits: atLeastZero(most),
    period: periodOf(duration, list),
    spentCredits: isOver ? 0n : atLeastZero(spend ?? ZERO),
  }
}

/** The largest limits that can be set here: of calls a minute, tokens a minute and open calls. */
const LARGEST = [1_000_000_000n, 1_000_000_000_000n, 1_000_000n] as const

/**
 * The limits of calls a minute, tokens a minute and open calls; one beyond what can be set is none. `isClosed`: one of
 * them is 0, which allows nothing.
 */
export function plannedLimits(limits: Pick<Limits, 'rpm_limit' | 'tpm_limit' | 'max_parallel_requests'>) {
  const all = [limits.rpm_limit, limits.tpm_limit, limits.max_parallel_requests] as const
  const [rateLimit, tokensPerMinute, maxOutstanding] = all.map((limit, at) =>
    limit === null || limit <= 0n || limit > LARGEST[at]! ? null : Number(limit),
  ) as [number | null, number | null, number | null]
  return { rateLimit, tokensPerMinute, maxOutstanding, isClosed: all.some((limit) => limit !== null && limit <= 0n) }
}
