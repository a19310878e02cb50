/** Metrics of both processes, and gauges that are read when somebody asks for them. */
import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { within } from '../platform/process/start-up.ts'
import type { CatalogueHolder } from '../catalogue/holder.ts'
import type { PaymentsObserver } from '../payments/deps.ts'
import type { Db } from '../platform/postgres/db.ts'

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

/** The one sample of a gauge without labels; none if there is no value. */
export const only = (value: number | undefined): Sample<never>[] => (value === undefined ? [] : [{ labels: {}, value }])

/** A reading shared by several gauges: concurrent requests get the same one. */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () =>
    (reading ??= read().finally(() => {
      reading = undefined
    }))
}

/** Shows the version of the catalogue that this process uses; no value before the first version. */
export function measureCatalogue(registry: Registry, catalogue: Pick<CatalogueHolder, 'version'>): void {
  showGauge(registry, { name: 'catalogue_version', help: 'The version of the catalogue that this process uses.' }, () =>
    only(catalogue.version() ?? undefined),
  )
}

/** Counts what this process does about payments. */
export function measurePayments(registry: Registry): PaymentsObserver {
  const counter = <Label extends string>(name: string, help: string, label: Label): Counter<Label> =>
    new Counter({ name: `tollgate_${name}_total`, help, labelNames: [label], registers: [registry] })
  const statuses = counter(
    'payments',
    'Orders by the status they reached: open, paid, expired, failed, review.',
    'status',
  )
  const differences = counter('payment_differences', 'Payments that differ from their order, by field.', 'field')
  const events = counter(
    'payment_events',
    'Webhook events: stored, passed (ignored or repeated), checked, unknown.',
    'outcome',
  )
  return {
    statusReached: (status) => statuses.inc({ status }),
    differenceFound: (field) => differences.inc({ field }),
    eventHandled: (outcome) => events.inc({ outcome }),
  }
}

/** The part of knex' pool (tarn) that reports its state. */
type Pool = { numUsed: () => number; numFree: () => number; numPendingAcquires: () => number; max: number }

/** Shows the pool of connections to Postgres of this process. */
export function measurePool(registry: Registry, db: Db): void {
  const { pool } = db.client as { pool: Pool }
  showGauge(
    registry,
    { name: 'db_connections', help: 'Connections to Postgres, used and free.', labelNames: ['state'] },
    () => [
      { labels: { state: 'used' }, value: pool.numUsed() },
      { labels: { state: 'free' }, value: pool.numFree() },
    ],
  )
  showGauge(registry, { name: 'db_connections_max', help: 'Connections to Postgres that this process may open.' }, () =>
    only(pool.max),
  )
  showGauge(registry, { name: 'db_waiting', help: 'Statements that wait for a connection.' }, () =>
    only(pool.numPendingAcquires()),
  )
}
