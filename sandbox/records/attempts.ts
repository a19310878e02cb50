const MAX_REMEMBERED = 50_000

/** Counts requests for a prompt or a file, for the words that fail the first N times. */
export class Attempts {
  private readonly counts = new Map<string, number>()

  /** Counts one more and returns the count. Beyond 50,000 keys the oldest are forgotten. */
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
