/**
 * The payments queue: an event to handle, an order to check, an account to top up, a customer to delete. The rows
 * decide, so a job may run any number of times.
 */
import type { Job, Processor } from 'bullmq'
import type { PaymentJob } from '../../shared/queues.ts'
import { dueEvents } from '../../shared/payments/events.ts'
import { dueForgetting, forgetCustomer } from '../../shared/payments/forgetting.ts'
import { handleEvent } from '../../shared/payments/check.ts'
import { dueOrders } from '../../shared/payments/orders.ts'
import { processDueOrder } from '../../shared/payments/due-orders.ts'
import type { PaymentDeps } from '../../shared/payments/deps.ts'
import { traced } from '../../shared/payments/traced.ts'
import { processing, withinSpan } from '../../shared/platform/telemetry/telemetry.ts'
import { dueTopUps, topUp } from '../../shared/payments/top-ups.ts'
import type { WorkerDeps } from '../deps.ts'

/** The processor of the payments queue. */
export function createPaymentProcessor({ payments, catalogue, telemetry }: WorkerDeps): Processor<PaymentJob> {
  const work = async (deps: PaymentDeps, { kind, id }: PaymentJob): Promise<void> => {
    if (kind === 'event') await handleEvent(deps, id)
    else if (kind === 'order') await processDueOrder(deps, id)
    else if (kind === 'forget') await forgetCustomer(deps, id)
    else await topUp(deps, catalogue.current(), id)
  }
  return async ({ data, queueName }: Job<PaymentJob>): Promise<void> => {
    if (!payments) return
    if (!telemetry) return work(payments, data)
    await withinSpan(
      telemetry,
      {
        role: 'consumer',
        name: `process ${data.kind}`,
        parent: data.kind === 'event' ? data.traceparent : undefined,
        attributes: processing(queueName),
      },
      (inside) => work({ ...payments, provider: traced(payments.provider, telemetry, inside) }, data),
      () => 'internal_error',
    )
  }
}

/** The most of each that one sweep enqueues. */
const SWEEP = 200

/** How long an event is left to its own job, in seconds. */
const GRACE_SECONDS = 5

/** Enqueues what is due by its row: no event and no job needs to arrive. @returns how many. */
export async function enqueueDuePayments({
  db,
  payments,
  queues,
}: Pick<WorkerDeps, 'db' | 'payments' | 'queues'>): Promise<number> {
  if (!payments) return 0
  const [orders, events, topUps, customers] = await Promise.all([
    dueOrders(db, SWEEP),
    dueEvents(db, GRACE_SECONDS, SWEEP),
    dueTopUps(db, SWEEP),
    dueForgetting(db, payments.provider.name, SWEEP),
  ])
  const jobs: PaymentJob[] = [
    ...orders.map((id) => ({ kind: 'order', id }) as const),
    ...events.map((id) => ({ kind: 'event', id }) as const),
    ...topUps.map((id) => ({ kind: 'top-up', id }) as const),
    ...customers.map((id) => ({ kind: 'forget', id }) as const),
  ]
  if (jobs.length > 0) await queues.enqueuePayments(jobs)
  return jobs.length
}
