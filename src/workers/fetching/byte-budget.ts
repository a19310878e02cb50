/**
 * Bytes that a process may hold at once for one purpose. Who finds too few left waits for its turn; no account ever has
 * more than its part of them, and one that waits for its own bytes is waited for by no other.
 */
import type { AccountId } from '../../shared/platform/ids.ts'

type Waiting = { account: AccountId; bytes: number; begin: () => void }

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
  private readonly perAccount: number
  private readonly held = new Map<AccountId, number>()
  private waiting: Waiting[] = []

  /** @param perAccount the most bytes that one account may have at once */
  constructor(total: number, perAccount: number) {
    this.left = total
    this.perAccount = perAccount
  }

  /**
   * Waits until so many bytes are left, and takes them.
   * @param bytes at most what one account may have: more would never be left
   * @throws the signal's reason once that has aborted; nothing is taken then
   */
  async take(account: AccountId, bytes: number, signal: AbortSignal): Promise<Share> {
    signal.throwIfAborted()
    await this.turn(account, bytes, signal)
    let held = bytes
    const lowerTo = (next: number): void => {
      if (next >= held) return
      this.change(account, next - held)
      held = next
      this.serve()
    }
    return { lowerTo, release: () => lowerTo(0) }
  }

  private turn(account: AccountId, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.waiting = this.waiting.filter((one) => one !== mine)
        reject(signal.reason as Error)
        // The next in the queue may need less.
        this.serve()
      }
      const begin = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const mine: Waiting = { account, bytes, begin }
      this.waiting.push(mine)
      signal.addEventListener('abort', onAbort, { once: true })
      this.serve()
    })
  }

  private serve(): void {
    const passed = new Set<AccountId>()
    for (const one of this.waiting) {
      const { account, bytes, begin } = one
      if (passed.has(account) || this.heldBy(account) + bytes > this.perAccount) {
        passed.add(account)
        continue
      }
      if (bytes > this.left) return
      this.waiting = this.waiting.filter((other) => other !== one)
      this.change(account, bytes)
      begin()
    }
  }

  private heldBy(account: AccountId): number {
    return this.held.get(account) ?? 0
  }

  private change(account: AccountId, bytes: number): void {
    const held = this.heldBy(account) + bytes
    this.left -= bytes
    if (held > 0) this.held.set(account, held)
    else this.held.delete(account)
  }
}
