/** Metrics of the backlog: scale workers by them. Every web process reports the same values: take the maximum. */
import type { Registry } from 'prom-client'
import { oldestQueued } from '../reports/backlog.ts'
import { usageLag } from '../reports/fold.ts'
import { monthsAhead } from '../calls/months.ts'
import { MODALITIES, QUEUE_NAMES } from '../terms/kinds.ts'
import type { Db } from '../platform/postgres/db.ts'
import { mailBacklog } from '../mail/mails.ts'
import { deliveryBacklog } from '../webhooks/deliveries.ts'
import type { Queues } from '../queues.ts'
import { only, sharedReading, showGauge } from './gauges.ts'

/** Shows the queues. */
export function measureBacklog(registry: Registry, { db, queues }: { db: Db; queues: Queues }): void {
  const mails = sharedReading(() => mailBacklog(db))
  const deliveries = sharedReading(() => deliveryBacklog(db))
  showGauge(
    registry,
    {
      name: 'queue_jobs',
      help: 'Jobs that wait for a worker, are active in one, or are delayed until a later poll or try.',
      labelNames: ['queue', 'state'],
    },
    async () => {
      const all = await Promise.all(
        QUEUE_NAMES.map(async (queue) => ({ queue, jobCounts: await queues.jobCounts(queue) })),
      )
      return all.flatMap(({ queue, jobCounts }) =>
        Object.entries(jobCounts).map(([state, value]) => ({ labels: { queue, state }, value })),
      )
    },
  )
  showGauge(
    registry,
    {
      name: 'queue_oldest_seconds',
      help: 'How long the oldest job has waited for a worker; 0 where none waits.',
      labelNames: ['queue'],
    },
    async () => {
      const [calls, { oldestDueSeconds }, webhooks] = await Promise.all([oldestQueued(db), mails(), deliveries()])
      return [
        ...MODALITIES.map((queue) => ({ labels: { queue }, value: calls[queue] ?? 0 })),
        { labels: { queue: 'mail' }, value: oldestDueSeconds },
        { labels: { queue: 'webhooks' }, value: webhooks.oldestDueSeconds },
      ]
    },
  )
  showGauge(registry, { name: 'mails_dead', help: 'Undelivered e-mails (dead letters).' }, async () =>
    only((await mails()).dead),
  )
  showGauge(
    registry,
    { name: 'webhook_deliveries', help: 'Deliveries of events by state: given up, or held.', labelNames: ['state'] },
    async () => {
      const { failed, held } = await deliveries()
      return [
        { labels: { state: 'failed' }, value: failed },
        { labels: { state: 'held' }, value: held },
      ]
    },
  )
  measureRecords(registry, db)
}

/** Shows how far the hours of usage and the months of calls are. */
function measureRecords(registry: Registry, db: Db): void {
  showGauge(
    registry,
    { name: 'usage_lag_seconds', help: 'How long ago the newest call ended that is in the hours of usage.' },
    async () => only(await usageLag(db)),
  )
  showGauge(
    registry,
    {
      name: 'partitions_ahead',
      help: 'For how many months after this one there are partitions; -1: not for this one.',
    },
    async () => only(await monthsAhead(db)),
  )
}
