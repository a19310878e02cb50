/**
 * The calls that this process works on. Their leases are renewed while it lives, so that the reconciler leaves them
 * alone even if Redis has lost their jobs.
 */
import type { Calls } from '../../shared/calls/calls.ts'
import type { CallId } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import { RUNNING_LEASE_SECONDS } from '../../shared/calls/lifecycle.ts'

/** A third of the lease: two renewals may fail before the reconciler takes over the call. */
const RENEW_MS = (RUNNING_LEASE_SECONDS * 1000) / 3

/** What `createHeldCalls` returns. */
export type HeldCalls = ReturnType<typeof createHeldCalls>

/**
 * A call that is worked on, and how others in this process end that work early. `leave`: to be called when the client
 * of its stream has left; ends the work, unless whoever reads the stream has replaced it.
 */
export type HeldCall = { id: CallId; ending: AbortController; leave: () => void }

/** A set of held calls whose leases are renewed until `stop`. */
export function createHeldCalls(calls: Pick<Calls, 'renew'>, log: Log) {
  const held = new Set<HeldCall>()
  let isStopping = false
  const timer = setInterval(() => {
    calls
      .renew([...held].map(({ id }) => id))
      .catch((error: unknown) => log.warn({ err: error, calls: held.size }, 'leases not renewed'))
  }, RENEW_MS)
  timer.unref()
  return {
    /** Holds a call until it is released. */
    hold(id: CallId): HeldCall {
      const ending = new AbortController()
      const call = { id, ending, leave: () => ending.abort(new Cancelled()) }
      held.add(call)
      if (isStopping) call.ending.abort(new Requeued())
      return call
    },
    /** The work on a call is done. */
    release(call: HeldCall): void {
      held.delete(call)
    },
    /** The client of a call's stream has left: ends the work on it if this process holds it. */
    cancel: (id: CallId): void => {
      for (const call of held) if (call.id === id) call.leave()
    },
    /** Ends the work on all calls, and on those that are held from now on: this process has no time left. */
    requeueAll(): void {
      isStopping = true
      for (const { ending } of held) ending.abort(new Requeued())
    },
    /** How many calls are held now. */
    size: (): number => held.size,
    stop: (): void => clearInterval(timer),
  }
}

/** The client of a stream has left: its upstream's work is cancelled, and what was produced is settled. */
export class Cancelled extends Error {}

/** This process stops: another one goes on with the call. */
export class Requeued extends Error {}

/** The call's deadline has come. The name is that of the platform's own time-outs, by which adapters recognise them. */
export class DeadlinePassed extends Error {
  override readonly name = 'TimeoutError'
}
