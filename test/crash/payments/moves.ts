import fc from 'fast-check'
import { FAILPOINTS } from '../../../src/shared/platform/process/failpoints.ts'
import type { FailpointName } from '../../../src/shared/platform/process/failpoints.ts'
import { oneOf } from '../simulator.ts'

/** What a process does, and where it is killed. `which` picks among what there is; `share` of an amount, in percent. */
export type Act = { dies: FailpointName | null; which: number } & (
  | { do: 'deliver' | 'handle' }
  | { do: 'return' | 'sweep' | 'cancel' }
  | { do: 'refund'; share: number; force: boolean }
  | { do: 'order' | 'top up'; auth: number }
)

/** What happens elsewhere: at the bank, at Stripe, or by a customer. */
export type Event =
  | { do: 'pay'; which: number; way: 'card' | 'declined' | 'later' }
  | { do: 'bank'; which: number; paid: boolean }
  | { do: 'expire' | 'tamper' | 'refund fails'; which: number }
  | { do: 'delete customer'; auth: number }
  | { do: 'refund at Stripe' | 'dispute'; which: number; share: number }
  | { do: 'dispute goes'; which: number; to: 'withdrawn' | 'reinstated' | 'won' | 'lost' }
  | { do: 'call'; auth: number; amount: number }
  | { do: 'call ends'; which: number; cost: number | null }
  | { do: 'fault'; fault: string; times: number }

/** One move: something elsewhere, or acts of processes, all at once. */
export type Move = Event | { do: 'together'; acts: Act[] }

const STEPS = (Object.keys(FAILPOINTS) as FailpointName[]).filter((name) => name.startsWith('payment.'))

const which = fc.nat(7)
const auth = fc.nat(1)
const share = fc.constantFrom(1, 33, 50, 100)
const dies = fc.option(fc.constantFrom(...STEPS), { freq: 4 })

const act = oneOf<Act>(
  [2, ['order'], { auth, dies, which }],
  [3, ['deliver', 'handle'], { dies, which }],
  [5, ['return', 'sweep', 'cancel'], { dies, which }],
  [2, ['refund'], { share, force: fc.boolean(), dies, which }],
  [1, ['top up'], { auth, dies, which }],
)

const faults = ['500', '503', '429', 'reset', '500-after', '500-kept', 'reset-after']

const event = oneOf<Event>(
  [6, ['pay'], { which, way: fc.constantFrom('card', 'card', 'later', 'declined') }],
  [2, ['bank'], { which, paid: fc.boolean() }],
  [2, ['expire', 'tamper', 'refund fails'], { which }],
  [1, ['delete customer'], { auth }],
  [4, ['refund at Stripe', 'dispute'], { which, share }],
  [4, ['dispute goes'], { which, to: fc.constantFrom('withdrawn', 'withdrawn', 'reinstated', 'won', 'lost') }],
  [3, ['call'], { auth, amount: fc.constantFrom(1, 400, 1050) }],
  [2, ['call ends'], { which, cost: fc.constantFrom(null, 1, 300) }],
  [2, ['fault'], { fault: fc.constantFrom(...faults), times: fc.integer({ min: 1, max: 2 }) }],
)

/** A schedule begins with an order that is paid, or is to be; half of them hear the newest event of it. */
function beginning(first: 'card' | 'later', delivered: boolean): Move[] {
  const act = { dies: null, which: 0 } as const
  const delivering: Move[] = [
    { do: 'together', acts: [{ do: 'deliver', ...act }] },
    { do: 'together', acts: [{ do: 'handle', ...act }] },
  ]
  return [
    { do: 'together', acts: [{ do: 'order', auth: 0, ...act }] },
    { do: 'pay', which: 0, way: first },
    ...(delivered ? delivering : []),
  ]
}

const together = oneOf<Move>([1, ['together'], { acts: fc.array(act, { minLength: 1, maxLength: 4 }) }])
const first = fc.constantFrom('card' as const, 'card' as const, 'later' as const)

/** A schedule: what happens, in order. */
export const schedules: fc.Arbitrary<Move[]> = fc
  .tuple(first, fc.boolean(), fc.array(fc.oneof(together, event), { minLength: 6, maxLength: 16 }))
  .map(([way, delivered, moves]) => [...beginning(way, delivered), ...moves])
