const MAX_REMEMBERED = 50_000

/** Counts how often something (a prompt, a file) was asked for, for the words that fail the first N times. */
export class Attempts {
  private readonly counts = new Map<string, number>()

  /** Counts one more and answers how many there are now. The oldest are forgotten beyond 50,000. */
  add(what: string): number {
    const now = (this.counts.get(what) ?? 0) + 1
    this.counts.set(what, now)
    if (this.counts.size > MAX_REMEMBERED) {
      const [oldest] = this.counts.keys()
      this.counts.delete(oldest!)
    }
    return now
  }
}
