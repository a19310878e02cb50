import fc from 'fast-check'
import type { FailpointName } from '../../../src/shared/platform/process/failpoints.ts'

/** What a process does, and where it is killed. `which` picks among what there is; `share` of an amount, in percent. */
export type Act = { dies: FailpointName | null; which: number } & (
  | { do: 'order'; auth: number; keep: boolean }
  | { do: 'deliver' }
  | { do: 'handle' }
  | { do: 'return' }
  | { do: 'sweep' }
  | { do: 'cancel' }
  | { do: 'refund'; share: number; force: boolean }
  | { do: 'top up'; auth: number }
)

/** What happens elsewhere: at the bank, at Stripe, or by a customer. */
export type Event =
  | { do: 'pay'; which: number; way: 'card' | 'declined' | 'later' }
  | { do: 'bank'; which: number; paid: boolean }
  | { do: 'expire'; which: number }
  | { do: 'delete customer'; auth: number }
  | { do: 'tamper'; which: number }
  | { do: 'refund at Stripe'; which: number; share: number }
  | { do: 'refund fails'; which: number }
  | { do: 'dispute'; which: number; share: number }
  | { do: 'dispute goes'; which: number; to: 'withdrawn' | 'reinstated' | 'won' | 'lost' }
  | { do: 'call'; auth: number; amount: number }
  | { do: 'call ends'; which: number; cost: number | null }
  | { do: 'fault'; fault: string; times: number }

/** One move: something elsewhere, or acts of processes, all at once. */
export type Move = Event | { do: 'together'; acts: Act[] }

const STEPS: readonly FailpointName[] = [
  'payment.ordered',
  'payment.asked',
  'payment.event_taken',
  'payment.read',
  'payment.applying',
  'payment.credited',
  'payment.refunding',
  'payment.refunded',
]

const which = fc.nat(7)
const auth = fc.nat(1)
const share = fc.constantFrom(1, 33, 50, 100)
const dies = fc.option(fc.constantFrom(...STEPS), { freq: 4 })

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('order' as const), auth, keep: fc.boolean(), dies, which }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'deliver' as const,
        'handle' as const,
        'return' as const,
        'sweep' as const,
        'cancel' as const,
      ),
      dies,
      which,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), share, force: fc.boolean(), dies, which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('top up' as const), auth, dies, which }) },
)

const together = fc.record({
  do: fc.constant('together' as const),
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
})

const way = fc.constantFrom('card' as const, 'card' as const, 'later' as const, 'declined' as const)
const to = fc.constantFrom(
  'withdrawn' as const,
  'withdrawn' as const,
  'reinstated' as const,
  'won' as const,
  'lost' as const,
)
const faults = ['500', '503', '429', 'reset', '500-after', '500-kept', 'reset-after']

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pay' as const), which, way }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('bank' as const), which, paid: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('expire' as const, 'tamper' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete customer' as const), auth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund at Stripe' as const), which, share }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refund fails' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('dispute' as const), which, share }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('dispute goes' as const), which, to }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('call' as const), auth, amount: fc.constantFrom(1, 400, 1050) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('call ends' as const), which, cost: fc.constantFrom(null, 1, 300) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      fault: fc.constantFrom(...faults),
      times: fc.integer({ min: 1, max: 2 }),
    }),
  },
)

/** A schedule begins with an order that is paid, or is to be; half of them hear the newest event of it. */
function beginning(first: 'card' | 'later', delivered: boolean): Move[] {
  const act = { dies: null, which: 0 } as const
  const delivering: Move[] = [
    { do: 'together', acts: [{ do: 'deliver', ...act }] },
    { do: 'together', acts: [{ do: 'handle', ...act }] },
  ]
  return [
    { do: 'together', acts: [{ do: 'order', auth: 0, keep: true, ...act }] },
    { do: 'pay', which: 0, way: first },
    ...(delivered ? delivering : []),
  ]
}

const move: fc.Arbitrary<Move> = fc.oneof({ weight: 1, arbitrary: together }, { weight: 1, arbitrary: event })
const first = fc.constantFrom('card' as const, 'card' as const, 'later' as const)

/** A schedule: what happens, in order. */
export const schedules: fc.Arbitrary<Move[]> = fc
  .tuple(first, fc.boolean(), fc.array(move, { minLength: 6, maxLength: 16 }))
  .map(([way, delivered, moves]) => [...beginning(way, delivered), ...moves])
