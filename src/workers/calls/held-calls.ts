/**
 * The calls that this process works on. It renews their leases while it lives: no other run takes them over meanwhile,
 * even if their jobs in Redis are lost (docs/architecture.md#begin).
 */
import type { Calls } from '../../shared/calls/calls.ts'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { CallId } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import { RENEW_LEASES_MS, RUNNING_LEASE_SECONDS } from '../../shared/terms/lifecycle.ts'

/** What `createHeldCalls` returns. */
export type HeldCalls = ReturnType<typeof createHeldCalls>

/**
 * A call that is worked on, and how others in this process end that work early. `attempt`: of its begin; 0 until then.
 * `leave`: to be called when the client of its stream has disconnected; ends the work, unless the runner replaces it.
 */
export type HeldCall = {
  id: CallId
  attempt: number
  ending: AbortController
  onDisconnect: () => void
  hasDisconnected: boolean
}

/** A set of held calls whose leases are renewed until `stop`. */
export function createHeldCalls(calls: Pick<Calls, 'renew'>, log: Log) {
  const held = new Map<CallId, HeldCall>()
  let isStopping = false
  let isRenewing = false

  /** Renews the leases of all begun calls, and ends the work on those that this process has no longer. */
  async function renew(): Promise<void> {
    const begun = [...held.values()].filter(({ attempt }) => attempt > 0)
    const renewed = new Set(await calls.renew(begun, RUNNING_LEASE_SECONDS))
    for (const call of begun) {
      if (!renewed.has(call.id) && held.get(call.id) === call) call.ending.abort(new TakenOver())
    }
  }

  const timer = setInterval(() => {
    if (isRenewing) return
    isRenewing = true
    renew()
      .catch((error: unknown) => log.warn({ err: error, calls: held.size }, 'leases not renewed'))
      .finally(() => {
        isRenewing = false
      })
  }, RENEW_LEASES_MS)
  timer.unref()
  return {
    /**
     * Holds a call, before its begin is written, until it is released.
     * @returns null if this process has it already: an earlier run of its job is still working on it
     */
    hold(id: CallId): HeldCall | null {
      if (held.has(id)) return null
      const onDisconnect = () => {
        call.hasDisconnected = true
      }
      const call: HeldCall = { id, attempt: 0, ending: new AbortController(), onDisconnect, hasDisconnected: false }
      held.set(id, call)
      if (isStopping) call.ending.abort(new Requeued())
      return call
    },
    /**
     * The begin of a held call is written: from now on its lease is renewed, and a client that disconnects ends the
     * work on it; one that has disconnected already does so now, unless an earlier attempt may have sent the request.
     */
    begun(call: HeldCall, { attempt, resumed }: Pick<BegunCall, 'attempt' | 'resumed'>): void {
      call.attempt = attempt
      call.onDisconnect = () => call.ending.abort(new Cancelled())
      if (call.hasDisconnected && !resumed) call.onDisconnect()
    },
    /** The work on a call is done. */
    release({ id }: HeldCall): void {
      held.delete(id)
    },
    /** The client of a call's stream has disconnected: ends the work on it if this process holds it. */
    cancel: (id: CallId): void => held.get(id)?.onDisconnect(),
    /** Ends the work on all calls, and on those that are held from now on: this process has no more time. */
    requeueAll(): void {
      isStopping = true
      for (const { ending } of held.values()) ending.abort(new Requeued())
    },
    renew,
    /** How many calls are held now. */
    size: (): number => held.size,
    stop: (): void => clearInterval(timer),
  }
}

/** The client of a stream has disconnected: its upstream's work is cancelled, and what was produced is settled. */
export class Cancelled extends Error {}

/** This process stops: another one goes on with the call. */
export class Requeued extends Error {}

/** The call has ended, or its lease has passed and another run has begun it. */
export class TakenOver extends Error {}

/** The call's deadline has come. The name is that of the platform's own time-outs, by which adapters recognise them. */
export class DeadlinePassed extends Error {
  override readonly name = 'TimeoutError'
}
