/** Metrics of payments: statuses that orders reached, differences from orders, and webhook events. */
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { PaymentsObserver } from '../payments/deps.ts'

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
