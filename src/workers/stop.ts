/**
 * Ends work early, as the platform's `AbortController` and its signal do. Every call has one, and almost none is ever
 * used: the platform's own costs ten times as much with its listeners (docs/performance.md#what-paid).
 */

/** What work that can be ended listens to. */
export type StopSignal = Stop | AbortSignal

/** Both ends of a signal, with as much of the platform's as is used here. */
export class Stop {
  private isStopped = false
  private why: Error | undefined
  private readonly listeners: (() => void)[] = []
  private platform: AbortController | undefined

  /** Whether the work has been ended. */
  get aborted(): boolean {
    return this.isStopped
  }

  /** Why it was; undefined while it was not. */
  get reason(): unknown {
    return this.why
  }

  /** Ends the work. Only the first time counts. */
  abort(reason: Error): void {
    if (this.isStopped) return
    this.isStopped = true
    this.why = reason
    this.platform?.abort(reason)
    for (const listener of this.listeners.splice(0)) listener()
  }

  /** @throws the reason where the work has been ended */
  throwIfAborted(): void {
    if (this.isStopped) throw this.why
  }

  /** Calls `listener` once, when the work is ended. */
  addEventListener(_type: 'abort', listener: () => void, _options?: { once: true }): void {
    this.listeners.push(listener)
  }

  /** Takes a listener back. */
  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.listeners.indexOf(listener)
    if (at >= 0) this.listeners.splice(at, 1)
  }

  /** The same as a signal of the platform, for those that take no other. */
  get asPlatform(): AbortSignal {
    if (!this.platform) {
      this.platform = new AbortController()
      if (this.isStopped) this.platform.abort(this.why)
    }
    return this.platform.signal
  }
}

/** A signal as the platform's own functions take it. */
export const platformSignal = (signal: StopSignal): AbortSignal => (signal instanceof Stop ? signal.asPlatform : signal)
