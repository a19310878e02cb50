import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { CallLimits } from '../../../src/shared/calls/calls.ts'
import { Calls } from '../../../src/shared/calls/calls.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { Settlement } from '../../../src/shared/calls/types.ts'
import type { Process, Scheduler } from '../../support/faults.ts'

const verbs = [
  'open',
  'begin',
  'moveToModel',
  'leaseOf',
  'submitted',
  'requeue',
  'release',
  'renew',
  'refund',
  'markAbandoned',
  'findStale',
] as const

/** The verbs of a process of its own, each one effect. */
export function callsOf(
  db: Db,
  turns: Scheduler,
  process: Process,
  limits: CallLimits,
  { lost, settledBy, refundedBy }: CallRecords,
): Calls {
  const calls = new Calls(db, limits)
  const gated = Object.create(calls) as Calls
  for (const verb of verbs) {
    const own = calls[verb].bind(calls) as (...given: unknown[]) => Promise<unknown>
    Object.assign(gated, {
      [verb]: (...given: unknown[]) => turns.effect(process, `${verb} ${nameOf(given[0])}`, () => own(...given)),
    })
  }
  gated.settle = ((id: CallId, ...rest: [Modality, Settlement]) =>
    turns.effect(process, `settle ${id}`, async () => {
      const ended = await calls.settle(id, ...rest)
      if (ended?.status === 'succeeded') settledBy.set(id, process)
      return ended
    })) as Calls['settle']
  gated.refund = (id, error, guard, ...rest) =>
    turns.effect(process, `refund ${id}`, async () => {
      const ended = await calls.refund(id, error, guard, ...rest)
      if (ended && guard?.attempt && !guard.reconciled) refundedBy.set(id, { process, attempt: guard.attempt })
      if (ended && error.message.startsWith('The call was lost ')) lost.set(id, guard!.attempt!)
      return ended
    })
  return gated
}

/** The run of a call's job that has refunded it. */
export type Refunder = { process: Process; attempt: number }

/**
 * What a simulation records of its calls for its checks: which attempt a reconciler refunded as lost, which process
 * settled a call, and which run of its own job refunded one.
 */
export type CallRecords = {
  lost: Map<CallId, number>
  settledBy: Map<CallId, Process>
  refundedBy: Map<CallId, Refunder>
}

/** The first argument of a verb: an id, or a request to open with one. */
const nameOf = (given: unknown): string =>
  typeof given === 'string' ? given : ((given as { id?: string } | undefined)?.id ?? '')
