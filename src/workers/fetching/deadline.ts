/** One end for everything that a download waits for: the caller's signal, or a time limit of its own. */
import { FetchFailed } from './failure.ts'

/** A running download's end. */
export type Deadline = {
  signal: AbortSignal
  /** Releases the timer and the caller's signal. Call it once, at the end of the download. */
  release: () => void
}

/** A signal that aborts with the caller's reason, or with a `FetchFailed` after `limitMs`. */
export function startDeadline(caller: AbortSignal, limitMs: number): Deadline {
  const controller = new AbortController()
  const follow = () => controller.abort(caller.reason)
  const timer = setTimeout(() => {
    controller.abort(new FetchFailed('timeout', 'The download took too long.', { retryable: true }))
  }, limitMs)
  timer.unref()
  if (caller.aborted) follow()
  else caller.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer)
      caller.removeEventListener('abort', follow)
    },
  }
}

/**
 * Begins work that takes no signal, such as a look-up of a name, and waits for it until the signal aborts; after that
 * the work is not begun. It is a function: the rejection of a promise would have no handler then.
 * @throws the signal's reason once that has aborted, or what `work` throws
 */
export async function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
