import { createAccount } from './account.ts'
import type { StripeAccount, Timers } from './account.ts'
import type { Kinds } from './objects.ts'

const WRITE_AFTER_MS = 100

/** Every account of this sandbox, and the work that it has still to do by itself. */
export class StripeWorld implements Timers {
  private readonly accounts = new Map<string, StripeAccount>()
  private readonly stopping = new AbortController()
  private readonly timers = new Set<NodeJS.Timeout>()
  private write: (() => void) | undefined
  private writing: NodeJS.Timeout | undefined

  /** Aborted when the sandbox closes. */
  get stopped(): AbortSignal {
    return this.stopping.signal
  }

  /** The account and mode of a secret key; both come into being with the first use of a key. */
  account(name: string, livemode: boolean): StripeAccount {
    const key = `${livemode ? 'live' : 'test'} ${name}`
    const found = this.accounts.get(key) ?? createAccount(name, livemode, this)
    this.accounts.set(key, found)
    return found
  }

  /** Every account, in both modes. */
  all(): StripeAccount[] {
    return [...this.accounts.values()]
  }

  /** The object with this id, of whichever account: ids of pages are secrets of their own. */
  anywhere<K extends keyof Kinds>(kind: K, id: string): { account: StripeAccount; found: Kinds[K] } | undefined {
    for (const account of this.accounts.values()) {
      const found = account.objects.find(kind, id)
      if (found) return { account, found }
    }
    return undefined
  }

  /** Does something after `ms` milliseconds, unless the sandbox has closed by then. */
  later(ms: number, work: () => void): void {
    if (this.stopped.aborted) return
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      work()
      this.changed()
    }, ms)
    this.timers.add(timer)
  }

  /** Leaves a failure to the process, which reports it. */
  failed(failure: unknown): void {
    throw failure
  }

  /** Hands every change to `write`: a moment after it, and at the end. */
  keep(write: () => void): void {
    this.write = write
  }

  /** To be called whenever an account may have changed. */
  changed(): void {
    if (!this.write || this.writing) return
    this.writing = setTimeout(() => this.writeNow(), WRITE_AFTER_MS)
  }

  private writeNow(): void {
    clearTimeout(this.writing)
    this.writing = undefined
    this.write?.()
  }

  /** Drops everything that is still to be done. */
  stop(): void {
    if (this.writing) this.writeNow()
    this.stopping.abort()
    for (const timer of this.timers) clearTimeout(timer)
  }
}
