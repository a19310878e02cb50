/**
 * Credits a day, stacked by model. A table has the same numbers for people who cannot see it.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { UsageRow } from '../api/endpoints.ts'
import { appliedTheme } from '../state/theme.ts'
import { BarChart } from './bar-chart.ts'
import { barText, duration, number } from './format.ts'

/** Models with a colour of their own; the rest share the last. */
const MAX_MODELS = 7

const COLOURS = {
  light: ['#3451d1', '#0e8f86', '#b7791f', '#a0449c', '#c2410c', '#4b7a1f', '#5f6b87', '#9aa1b5'],
  dark: ['#8ea2ff', '#3cc9bd', '#e5b454', '#dd8ad9', '#fb9668', '#9ccb62', '#aab4d0', '#6d7590'],
}

/** Of the axes. */
const INK = { light: { text: '#565d75', line: '#e8eaf2' }, dark: { text: '#a4abc3', line: '#262b3b' } }

/** What was used in an hour, on a day or in a month (`day`), of one model or with one key. */
export type UsedOn = Omit<UsageRow, 'modality' | 'model'> & { name: string }

/** How long calls took on average, in ms; 0 where none succeeded. */
export const averageMs = ({ succeeded, succeededMs }: Pick<UsedOn, 'succeeded' | 'succeededMs'>): number =>
  succeeded === 0 ? 0 : Math.round(succeededMs / succeeded)

/** What a chart can show of a day and a model or key. */
const MEASURES = {
  credits: (row: UsedOn) => row.credits,
  calls: (row: UsedOn) => row.calls,
  tokens: (row: UsedOn) => row.inputTokens + row.outputTokens,
  failed: (row: UsedOn) => row.failed,
}
export type Measure = keyof typeof MEASURES | 'latency'

/** What is drawn: `rows[m][d]` is the measure of model m, or of another stacked series, on day d. */
export type Stack = { days: string[]; models: string[]; rows: number[][] }

/** @param others what those are called together that have no colour of their own. */
function stackOf(usage: UsedOn[], days: string[], measure: Measure, others: string): Stack {
  if (measure === 'latency') return averagesOf(usage, days)
  const totals = new Map<string, number>()
  for (const row of usage) totals.set(row.name, (totals.get(row.name) ?? 0) + MEASURES[measure](row))
  const ranked = [...totals.keys()].toSorted((a, b) => totals.get(b)! - totals.get(a)!)
  const own = ranked.slice(0, ranked.length > MAX_MODELS + 1 ? MAX_MODELS : MAX_MODELS + 1)
  const models = own.length < ranked.length ? [...own, others] : own
  const place = new Map(days.map((day, index) => [day, index]))
  const rows = models.map(() => days.map(() => 0))
  for (const one of usage) {
    const at = place.get(one.day)
    const row = own.indexOf(one.name)
    if (at !== undefined) rows[row === -1 ? models.length - 1 : row]![at]! += MEASURES[measure](one)
  }
  return { days, models, rows }
}

/** The average of each bar: averages of models are not to be stacked. */
function averagesOf(usage: UsedOn[], days: string[]): Stack {
  const averages = days.map((day) => {
    const own = usage.filter((row) => row.day === day)
    const sum = (field: 'succeeded' | 'succeededMs') => own.reduce((all, row) => all + row[field], 0)
    return averageMs({ succeeded: sum('succeeded'), succeededMs: sum('succeededMs') })
  })
  return { days, models: [t.overview.average], rows: [averages] }
}

type ChartProps = {
  /** What all of it is called: "Last 30 days". */
  title: string
  usage: UsedOn[] | undefined
  days: string[]
  measure: Measure
  /** What those are called together that have no colour of their own. */
  others: string
  /** A day was pressed. */
  choose: (day: string) => void
}

/** The chart of a usage. `usage` undefined: on its way; its place is reserved. */
export function UsageChart({ title, usage, days, measure, others, choose }: ChartProps) {
  const stack = useMemo(() => stackOf(usage ?? [], days, measure, others), [usage, days, measure, others])
  const isAverage = measure === 'latency'
  return (
    <StackChart
      title={title}
      stack={stack}
      isLoaded={usage !== undefined}
      text={isAverage ? duration : number}
      total={isAverage ? averageMs(totalOf(usage ?? [])) : undefined}
      choose={choose}
    />
  )
}

/** All calls of a usage. */
const totalOf = (usage: UsedOn[]): Pick<UsedOn, 'succeeded' | 'succeededMs'> => ({
  succeeded: usage.reduce((sum, row) => sum + row.succeeded, 0),
  succeededMs: usage.reduce((sum, row) => sum + row.succeededMs, 0),
})

type StackProps = {
  /** What all of it is called: "Last 30 days". */
  title: string
  stack: Stack
  /** Its numbers have come; until then its place is reserved. */
  isLoaded: boolean
  /** A value as people read it. */
  text: (value: number) => string
  /** The value of all bars together, where that is not their sum. */
  total?: number | undefined
  /** A bar was pressed. */
  choose?: (bar: string) => void
}

/** A bar with its zone, where that is not the reader's own: hours are in local time. */
const nameOf = (bar: string): string => (bar.length > 10 ? barText(bar) : `${barText(bar)} (UTC)`)

/** Bars of an hour, a day or a month each, stacked. */
export function StackChart({ title, stack, isLoaded, text, total, choose }: StackProps) {
  const { days, rows } = stack
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<BarChart | null>(null)
  const [day, setDay] = useState<number | null>(null)
  const colours = COLOURS[appliedTheme.value]
  // In the frame that shows its numbers, not in the one after it.
  useLayoutEffect(() => {
    if (!isLoaded) return undefined
    const made = new BarChart(place.current!, {
      days,
      rows,
      colours,
      ink: INK[appliedTheme.value],
      dayText: barText,
      valueText: text,
    })
    chart.current = made
    return () => made.end()
  }, [stack, appliedTheme.value, isLoaded])
  const point = (to: number | null): void => {
    chart.current?.mark(to)
    setDay(to)
  }
  const valueOf = (row: number[]): number => (day === null ? row.reduce((sum, one) => sum + one, 0) : (row[day] ?? 0))
  return (
    <figure class="chart">
      <div
        ref={place}
        class={day === null || !choose ? 'plot' : 'plot chosen'}
        aria-hidden="true"
        onMouseMove={({ currentTarget, clientX }) =>
          point(chart.current?.dayAt(clientX - currentTarget.getBoundingClientRect().left) ?? null)
        }
        onMouseLeave={() => point(null)}
        onClick={() => day !== null && choose?.(days[day]!)}
      />
      <figcaption>
        <strong>
          {day === null ? title : nameOf(days[day]!)}:{' '}
          <span class="digits">
            {text(day === null && total !== undefined ? total : stack.rows.reduce((sum, row) => sum + valueOf(row), 0))}
          </span>
        </strong>
        {stack.models.map((model, index) => (
          <span key={model} class="key">
            <svg width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" rx="2" fill={colours[index]} />
            </svg>
            {model}{' '}
            {(total === undefined || day !== null) && <span class="digits">{text(valueOf(stack.rows[index]!))}</span>}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
