/**
 * Budgets, of keys and of members: their fields, and what is used of them.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import { Time } from './basics.tsx'
import { number } from './format.ts'
import { Choice, Field } from './forms.tsx'

const words = t.overview.budget

/** The most credits that calls may cost in a period. */
export type Budget = { credits: number; period: keyof typeof words.periods }

/** A budget, and what is used of it. */
type Spent = Budget & { used: number; remaining: number; resetsAt: string | null }

/** A budget in words. */
export const budgetText = (budget: Budget): string => words.text(number(budget.credits), words.periods[budget.period])

/** The fields of a budget, for several forms. */
export function BudgetFields({ budget, hint }: { budget: Budget | null; hint: string }) {
  const [period, setPeriod] = useState<string>(budget?.period ?? 'month')
  return (
    <>
      <Field
        label={words.label}
        name="credits"
        type="number"
        min={0}
        defaultValue={budget ? String(budget.credits) : ''}
        hint={hint}
      />
      <Choice
        label={words.period}
        name="period"
        options={Object.entries(words.periods)}
        value={period}
        onChange={(event) => setPeriod(event.currentTarget.value)}
      />
    </>
  )
}

/** What these fields change of the budget before; null lifts it, empty if it stays as it is. */
export function budgetOf(texts: Record<string, string>, before: Budget | null): { budget?: Budget | null } {
  const text = (texts['credits'] ?? '').trim()
  if (text === '') return before ? { budget: null } : {}
  const budget = { credits: Number(text), period: (texts['period'] ?? 'month') as Budget['period'] }
  return before?.credits === budget.credits && before.period === budget.period ? {} : { budget }
}

/** What is used of a budget. */
export function BudgetMeter({ budget }: { budget: Spent | null }) {
  if (!budget) return <span class="soft">{t.words.fields.none}</span>
  const used = Math.min(100, Math.round((100 * budget.used) / Math.max(1, budget.credits)))
  const text = words.used(number(budget.used), number(budget.credits))
  return (
    <span>
      <span
        class={used > 80 ? 'meter high' : 'meter'}
        role="meter"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={used}
        aria-label={words.usedLabel(text)}
      >
        <span style={{ width: `${used}%` }} />
      </span>{' '}
      {text} {words.periods[budget.period]}
      {budget.remaining === 0 && budget.resetsAt && <small>{words.spentUntil(<Time iso={budget.resetsAt} />)}</small>}
    </span>
  )
}
