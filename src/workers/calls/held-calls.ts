/**
 * The calls that this process works on. Their leases are renewed while it lives, so that the reconciler leaves them
 * alone also when Redis has forgotten their jobs.
 */
import type { Calls } from '../../shared/calls/calls.ts'
import type { CallId } from '../../shared/ids.ts'
import type { Log } from '../../shared/infra/log.ts'
import { RUNNING_LEASE_SECONDS } from '../../shared/calls/lifecycle.ts'

/** A third of the lease: two renewals may fail before the reconciler takes over the call. */
const RENEW_MS = (RUNNING_LEASE_SECONDS * 1000) / 3

/** What `createHeldCalls` returns. */
export type HeldCalls = ReturnType<typeof createHeldCalls>

/** A set of held calls whose leases are renewed until `stop`. */
export function createHeldCalls(calls: Pick<Calls, 'renew'>, log: Log) {
  const held = new Map<CallId, AbortController>()
  const timer = setInterval(() => {
    calls
      .renew([...held.keys()])
      .catch((error: unknown) => log.warn({ err: error, calls: held.size }, 'leases not renewed'))
  }, RENEW_MS)
  timer.unref()
  return {
    /** Holds a call while `work` runs. The controller is how others in this process end the work early. */
    async during<T>(id: CallId, work: (controller: AbortController) => Promise<T>): Promise<T> {
      const controller = new AbortController()
      held.set(id, controller)
      try {
        return await work(controller)
      } finally {
        held.delete(id)
      }
    },
    /** Ends the work on a call if this process holds it: the client of its stream has disconnected. */
    cancel: (id: CallId): void => held.get(id)?.abort(new Cancelled()),
    /** How many calls are held now. */
    size: (): number => held.size,
    stop: (): void => clearInterval(timer),
  }
}

/** The client of a stream has left: its upstream's work is cancelled, and what was produced is settled. */
export class Cancelled extends Error {}

/** This process stops: another one goes on with the call. */
export class Requeued extends Error {}

/** The call's deadline has come. The name is that of the platform's own time-outs, by which adapters know one. */
export class DeadlinePassed extends Error {
  override readonly name = 'TimeoutError'
}
