/**
 * How a web process stops (docs/architecture.md#stopping).
 */
import { setMaxListeners } from 'node:events'
import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** How long the answers that name where to retry may take to be sent, in ms. */
const LAST_ANSWERS_MS = 2000

/** How often connections are closed that have become idle meanwhile, in ms. */
const IDLE_SWEEP_MS = 100

/** The stop of one web process, and the signals that notify its parts. */
export class OrderlyStop {
  private readonly terminating = new AbortController()
  private readonly draining = new AbortController()
  private readonly stopping = new AbortController()
  private readonly openMs: number
  private readonly drainMs: number

  /**
   * @param openMs how long the port stays open after the process has reported that it is not ready any more
   * @param drainMs how long, from the same moment, waiting requests may have their answers
   */
  constructor(openMs: number, drainMs: number) {
    this.openMs = Math.min(openMs, drainMs)
    this.drainMs = drainMs
    // Every waiting request listens to one, every page that follows its account to another.
    setMaxListeners(0, this.stopping.signal, this.draining.signal)
  }

  /** They abort in this order: not ready any more; no more connections; what still waits must be answered. */
  get signals(): { terminating: AbortSignal; draining: AbortSignal; stopping: AbortSignal } {
    return { terminating: this.terminating.signal, draining: this.draining.signal, stopping: this.stopping.signal }
  }

  /**
   * Gives balancers the time to see that the process is not ready, then takes no more connections, lets the requests
   * that wait have their answers, and closes every connection.
   */
  async drain(server: Server): Promise<void> {
    this.terminating.abort()
    await pause(this.openMs)
    this.draining.abort()
    const closing = new Promise((resolve) => server.close(resolve))
    const closed = () => closing
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
    await within(this.drainMs - this.openMs, closed)
    this.stopping.abort()
    await within(LAST_ANSWERS_MS, closed)
    clearInterval(sweep)
    server.closeAllConnections()
  }
}

async function within(ms: number, closed: () => Promise<unknown>): Promise<void> {
  const late = new AbortController()
  await Promise.race([closed(), pause(ms, undefined, { signal: late.signal }).catch(() => {})])
  late.abort()
}
