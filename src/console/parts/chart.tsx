/**
 * Credits a day, stacked by model. Whoever cannot see it has the same numbers as a table.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import type { UsageRow } from '../api/endpoints.ts'
import { shown } from '../state/theme.ts'
import { dayText, number } from './format.ts'

/** Models with a colour of their own; the rest share the last. */
const MAX_MODELS = 7

const COLOURS = {
  light: ['#3451d1', '#0e8f86', '#b7791f', '#a0449c', '#c2410c', '#4b7a1f', '#5f6b87', '#9aa1b5'],
  dark: ['#8ea2ff', '#3cc9bd', '#e5b454', '#dd8ad9', '#fb9668', '#9ccb62', '#aab4d0', '#6d7590'],
}

const HEIGHT = 220

/** What was used on a day, of one model or with one key. */
export type UsedOn = Omit<UsageRow, 'modality' | 'model'> & { name: string }

/** What a chart can show of a day and a model or key. */
export const MEASURES = {
  credits: (row: UsedOn) => row.credits,
  calls: (row: UsedOn) => row.calls,
  tokens: (row: UsedOn) => row.inputTokens + row.outputTokens,
  failed: (row: UsedOn) => row.failed,
}
export type Measure = keyof typeof MEASURES

/** What is drawn: `rows[m][d]` is the measure of model m, or whatever else is stacked, on day d. */
export type Stack = { days: string[]; models: string[]; rows: number[][] }

/** @param others what those are called together that have no colour of their own. */
export function stackOf(usage: UsedOn[], days: string[], measure: Measure = 'credits', others = 'other models'): Stack {
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

/** The library that draws: asked for with the first chart, while its numbers are on their way. */
type Library = { default: typeof uPlot }
let library: Promise<Library> | undefined
const drawing = (): Promise<Library> => (library ??= import('uplot'))

type ChartProps = {
  usage: UsedOn[] | undefined
  days: string[]
  measure: Measure
  /** What those are called together that have no colour of their own. */
  others: string
  /** A day was pressed. */
  choose: (day: string) => void
}

/** The chart of a usage. `usage` undefined: on its way; its place is kept. */
export function UsageChart({ usage, days, measure, others, choose }: ChartProps) {
  const stack = useMemo(() => stackOf(usage ?? [], days, measure, others), [usage, days, measure, others])
  return <StackChart stack={stack} isThere={usage !== undefined} text={number} choose={choose} />
}

type StackProps = {
  stack: Stack
  /** Its numbers have come; until then its place is kept. */
  isThere: boolean
  /** A value as people read it. */
  text: (value: number) => string
  /** A day was pressed. */
  choose?: (day: string) => void
}

/** Bars of a day each, stacked. */
export function StackChart({ stack, isThere, text, choose }: StackProps) {
  const { days } = stack
  const place = useRef<HTMLDivElement>(null)
  const [day, setDay] = useState<number | null>(null)
  const colours = COLOURS[shown.value]
  void drawing()
  // In the frame that shows its numbers, not in the one after it.
  useLayoutEffect(() => {
    if (!isThere) return undefined
    let over = false
    let plot: uPlot | null = null
    let sized: ResizeObserver | null = null
    void drawing().then(({ default: Plot }) => {
      const to = place.current
      if (over || !to) return
      // It says the width that this frame has anyway; asking the element would have the page laid out once more.
      sized = new ResizeObserver(([entry]) => {
        const width = Math.round(entry!.contentRect.width)
        if (!plot) plot = new Plot(options(Plot, stack, width, setDay, text), drawn(stack), to)
        else if (plot.width !== width) plot.setSize({ width, height: HEIGHT })
      })
      sized.observe(to)
    })
    return () => {
      over = true
      sized?.disconnect()
      plot?.destroy()
    }
  }, [stack, shown.value, isThere])
  const valueOf = (row: number[]): number => (day === null ? row.reduce((sum, one) => sum + one, 0) : (row[day] ?? 0))
  return (
    <figure class="chart">
      <div
        ref={place}
        class={day === null || !choose ? 'plot' : 'plot chosen'}
        aria-hidden="true"
        onClick={() => day !== null && choose?.(days[day]!)}
      />
      <figcaption>
        <strong>
          {day === null ? `Last ${days.length} days` : `${dayText(days[day]!)} (UTC)`}:{' '}
          <span class="digits">{text(stack.rows.reduce((sum, row) => sum + valueOf(row), 0))}</span>
        </strong>
        {stack.models.map((model, index) => (
          <span key={model} class="key">
            <svg width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" rx="2" fill={colours[index]} />
            </svg>
            {model} <span class="digits">{text(valueOf(stack.rows[index]!))}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

/**
 * Each series is the sum of its model and all below it, the tallest first, so that each covers the last but for its
 * own part.
 */
function drawn({ days, rows }: Stack): uPlot.AlignedData {
  const sums = days.map(() => 0)
  const series = rows.toReversed().map((row) => row.map((value, at) => (sums[at]! += value)))
  return [days.map((_, index) => index), ...series.toReversed()]
}

function options(
  Plot: typeof uPlot,
  { days, models }: Stack,
  width: number,
  hover: (day: number | null) => void,
  text: (value: number) => string,
): uPlot.Options {
  const dark = shown.value === 'dark'
  const bars = Plot.paths.bars!({ size: [0.72, 48], radius: 0.15 })
  const axis = {
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    stroke: dark ? '#a4abc3' : '#565d75',
    grid: { stroke: dark ? '#262b3b' : '#e8eaf2', width: 1 },
    ticks: { show: false },
  }
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { setScale: false } },
    scales: {
      x: { time: false, range: () => [-0.6, days.length - 0.4] },
      y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.08)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        values: (_plot, splits) => splits.map((at) => (Number.isInteger(at) && days[at] ? dayText(days[at]) : '')),
      },
      {
        ...axis,
        size: 62,
        values: (_plot, splits) =>
          splits.map((value) => (text !== number || Number.isInteger(value) ? text(value) : '')),
      },
    ],
    series: [
      {},
      ...models.map((_, index) => {
        const colour = COLOURS[shown.value][index]!
        return { stroke: colour, fill: colour, width: 0, paths: bars, points: { show: false } }
      }),
    ],
    hooks: { setCursor: [(plot) => hover(plot.cursor.idx ?? null)] },
  }
}
