/**
 * How many images of an account could not be fetched or read lately. Failures are refunded, so nothing else bounds how
 * often an account makes us ask closed ports, or unpack what is not a picture.
 */
import type { AccountId } from '../../shared/platform/ids.ts'

const MINUTE_MS = 60_000

/** Counts failures by account and minute, in this process. */
export class RecentFailures {
  private readonly most: number
  private readonly counts = new Map<AccountId, number>()
  private minuteBeganAt = -Infinity

  /** @param most how many an account may have in a minute before it must wait for the next one */
  constructor(most: number) {
    this.most = most
  }

  /** Counts one. */
  add(account: AccountId): void {
    this.turnMinute()
    this.counts.set(account, (this.counts.get(account) ?? 0) + 1)
  }

  /** Whether an account has had too many in this minute. */
  isOver(account: AccountId): boolean {
    this.turnMinute()
    return (this.counts.get(account) ?? 0) >= this.most
  }

  private turnMinute(): void {
    if (performance.now() - this.minuteBeganAt < MINUTE_MS) return
    this.minuteBeganAt = performance.now()
    this.counts.clear()
  }
}
