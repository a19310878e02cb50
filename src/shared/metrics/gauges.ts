/** Gauges that are read when somebody asks for them. */
import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { within } from '../platform/process/start-up.ts'

/** One value, under the labels of its gauge. */
export type Sample<Label extends string> = { labels: Record<Label, string>; value: number }

type Description<Label extends string> = { name: string; help: string; labelNames?: Label[] }

/** How long a reading may take, in ms: one service that hangs must not hide everything else. */
const PATIENCE_MS = 2000

/** Shows what `read` answers. What cannot be read now has no value: a zero would be wrong. */
export function showGauge<Label extends string = never>(
  registry: Registry,
  { name, help, labelNames = [] }: Description<Label>,
  read: () => Sample<Label>[] | Promise<Sample<Label>[]>,
): void {
  new Gauge({
    name: `tollgate_${name}`,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const samples = await within(PATIENCE_MS, async () => read()).catch(() => [])
      this.reset()
      if (labelNames.length === 0) this.remove()
      for (const { labels, value } of samples) this.set(labels, value)
    },
  })
}

/** The one sample of a gauge without labels; none where there is no value. */
export const only = (value: number | undefined): Sample<never>[] => (value === undefined ? [] : [{ labels: {}, value }])

/** A reading shared by several gauges: concurrent requests get the same one. */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () =>
    (reading ??= read().finally(() => {
      reading = undefined
    }))
}
