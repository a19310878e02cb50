/**
 * The payments queue: an event to follow, an order to look at, an account to top up. The rows decide, so a job may run
 * any number of times.
 */
import type { Job, Processor } from 'bullmq'
import type { PaymentJob } from '../../shared/infra/queues.ts'
import { dueEvents } from '../../shared/payments/events.ts'
import { followEvent } from '../../shared/payments/look.ts'
import { dueOrders } from '../../shared/payments/orders.ts'
import { attend } from '../../shared/payments/sweep.ts'
import { dueTopUps, topUp } from '../../shared/payments/top-ups.ts'
import type { WorkerDeps } from '../deps.ts'

/** The processor of the payments queue. */
export function createPaymentProcessor({ payments, catalogue }: WorkerDeps): Processor<PaymentJob> {
  return async ({ data }: Job<PaymentJob>): Promise<void> => {
    if (!payments) return
    if (data.kind === 'event') await followEvent(payments, data.id)
    else if (data.kind === 'order') await attend(payments, data.id)
    else await topUp(payments, catalogue.current(), data.id)
  }
}

/** The most of each that one sweep enqueues. */
const SWEEP = 200

/** How long an event is left to its own job, in seconds. */
const GRACE_SECONDS = 5

/** Enqueues what is due by its row: no event and no job needs to arrive. @returns how many. */
export async function sweepPayments({
  db,
  payments,
  queues,
}: Pick<WorkerDeps, 'db' | 'payments' | 'queues'>): Promise<number> {
  if (!payments) return 0
  const [orders, events, topUps] = await Promise.all([
    dueOrders(db, SWEEP),
    dueEvents(db, GRACE_SECONDS, SWEEP),
    dueTopUps(db, SWEEP),
  ])
  const jobs: PaymentJob[] = [
    ...orders.map((id) => ({ kind: 'order', id }) as const),
    ...events.map((id) => ({ kind: 'event', id }) as const),
    ...topUps.map((id) => ({ kind: 'top-up', id }) as const),
  ]
  if (jobs.length > 0) await queues.enqueuePayments(jobs)
  return jobs.length
}
