/**
 * Bytes that a process may hold at once for one purpose. Who finds too few left waits for its turn.
 */

type Waiting = { bytes: number; begin: () => void }

/** A share of a budget. */
export type Share = {
  /** Lowers the share to so many bytes; it is never raised. */
  lowerTo: (bytes: number) => void
  /** Gives all of it back. May be called again. */
  release: () => void
}

/** Shares out `total` bytes, first come, first served: a large share is not overtaken by small ones behind it. */
export class ByteBudget {
  private left: number
  private waiting: Waiting[] = []

  constructor(total: number) {
    this.left = total
  }

  /**
   * Waits until so many bytes are left, and takes them.
   * @param bytes at most the whole budget: more would never be left
   * @throws the signal's reason once that has aborted; nothing is taken then
   */
  async take(bytes: number, signal: AbortSignal): Promise<Share> {
    signal.throwIfAborted()
    if (this.waiting.length > 0 || bytes > this.left) await this.turn(bytes, signal)
    else this.left -= bytes
    let held = bytes
    const lowerTo = (next: number): void => {
      if (next >= held) return
      this.left += held - next
      held = next
      this.serve()
    }
    return { lowerTo, release: () => lowerTo(0) }
  }

  private turn(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.waiting = this.waiting.filter((one) => one !== mine)
        reject(signal.reason as Error)
        // Whoever stood behind it may need less.
        this.serve()
      }
      const begin = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const mine: Waiting = { bytes, begin }
      this.waiting.push(mine)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  private serve(): void {
    while (this.waiting.length > 0 && this.waiting[0]!.bytes <= this.left) {
      const next = this.waiting.shift()!
      this.left -= next.bytes
      next.begin()
    }
  }
}
