/**
 * Metrics of payments: what orders became, what differed from them, and the events of providers.
 */
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { PaymentsObserver } from '../payments/deps.ts'

/** Counts what this process does about payments. */
export function measurePayments(registry: Registry): PaymentsObserver {
  const counter = <Label extends string>(name: string, help: string, label: Label): Counter<Label> =>
    new Counter({ name: `tollgate_${name}_total`, help, labelNames: [label], registers: [registry] })
  const became = counter(
    'payments',
    'Orders by the state that they reached: open, paid, expired, failed, review.',
    'status',
  )
  const differed = counter('payment_differences', "A provider's object differed from its order, by the field.", 'field')
  const events = counter('payment_events', 'Events of providers: stored, passed over, looked at, unknown.', 'outcome')
  return {
    became: (status) => became.inc({ status }),
    differed: (field) => differed.inc({ field }),
    event: (outcome) => events.inc({ outcome }),
  }
}
