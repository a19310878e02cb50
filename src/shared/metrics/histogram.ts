/**
 * Histograms as prom-client shows them, at a fraction of its cost for each value: a call has six of them, and a reader
 * comes a few times a minute.
 */
import type { Metric, Registry } from 'prom-client'

/** `buckets`: their upper bounds, ascending. */
type Description<Label extends string> = { name: string; help: string; labelNames: readonly Label[]; buckets: number[] }

/** The values under one combination of labels. `counts`: how many fell into each bucket, and behind the last. */
type Series<Label extends string> = { labels: Record<Label, string>; counts: number[]; sum: number; count: number }

/** Counts values in buckets, for each combination of labels. */
export class Histogram<Label extends string> {
  readonly name: string
  private readonly description: Description<Label>
  private readonly series = new Map<string, Series<Label>>()

  constructor(registry: Registry, description: Description<Label>) {
    this.name = description.name
    this.description = description
    // A registry asks its metrics for no more than their name, and their values by `get`.
    registry.registerMetric(this as unknown as Metric)
  }

  /** Counts a value. @throws TypeError for one that is no finite number */
  observe(labels: Record<Label, string>, value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`${this.name} cannot have ${value}`)
    const { buckets } = this.description
    const series = this.seriesOf(labels)
    let at = 0
    while (at < buckets.length && value > buckets[at]!) at++
    series.counts[at]!++
    series.sum += value
    series.count++
  }

  /** Everything so far, as a registry reads it. */
  async get() {
    const { help } = this.description
    const values = [...this.series.values()].flatMap((one) => this.shown(one))
    return { name: this.name, help, type: 'histogram', values, aggregator: 'sum' }
  }

  /** Forgets everything. */
  reset(): void {
    this.series.clear()
  }

  private seriesOf(labels: Record<Label, string>): Series<Label> {
    let key = ''
    for (const name of this.description.labelNames) key += `${labels[name]}\n`
    let series = this.series.get(key)
    if (!series) {
      const counts = Array.from({ length: this.description.buckets.length + 1 }, () => 0)
      this.series.set(key, (series = { labels, counts, sum: 0, count: 0 }))
    }
    return series
  }

  private shown({ labels, counts, sum, count }: Series<Label>) {
    let upTo = 0
    const bounds = [...this.description.buckets, '+Inf'] as const
    const buckets = bounds.map((le, at) => {
      upTo += counts[at]!
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: upTo }
    })
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${this.name}_count`, labels: { ...labels }, value: count },
    ]
  }
}
