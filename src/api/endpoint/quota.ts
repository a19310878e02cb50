/**
 * How much one account, and all accounts together, may hold in this process: open streams, or bytes of answers.
 */

/** The most that may be held, in the quota's own unit. */
export type Bounds = { perAccount: number; perProcess: number }

/** Counts what is held. It never awaits, so that what is taken is counted before the next request is checked. */
export class Quota {
  private readonly bounds: Bounds
  private readonly held = new Map<string, number>()
  private total = 0

  constructor(bounds: Bounds) {
    this.bounds = bounds
  }

  /**
   * Takes an amount for an account. @returns false, with nothing taken, if it or the process would hold too much.
   */
  take(account: string, amount: number): boolean {
    const own = this.of(account) + amount
    if (own > this.bounds.perAccount || this.total + amount > this.bounds.perProcess) return false
    this.put(account, own, amount)
    return true
  }

  /** Gives back what `take` took, or a part of it. */
  give(account: string, amount: number): void {
    this.put(account, this.of(account) - amount, -amount)
  }

  /** What an account holds. */
  of(account: string): number {
    return this.held.get(account) ?? 0
  }

  /** What all hold together. */
  all(): number {
    return this.total
  }

  private put(account: string, own: number, change: number): void {
    this.total += change
    if (own > 0) this.held.set(account, own)
    else this.held.delete(account)
  }
}
