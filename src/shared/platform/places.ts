/**
 * Shares out places among accounts (docs/operations.md#scale): none ever has more than its share of them, whether
 * others wait or not, and of those that wait, the account that has the fewest goes first.
 */
import type { AccountId } from './ids.ts'

/** Somebody who waits for one of `total` places. `enter` is called once, when it is their turn. */
export type Waiting = { account: AccountId; total: number; enter: () => void }

/** How many of `total` places one account may have: at least one. @param share above 0, at most 1 */
export const shareOf = (total: number, share: number): number => Math.max(1, Math.floor(total * share))

/** Places that are taken, by account, and who waits. The total may differ from one moment to the next. */
export class Places {
  /** How many are taken. */
  taken = 0
  private readonly share: number
  private readonly held = new Map<AccountId, number>()
  private readonly queue: Waiting[] = []

  /** @param share what one account may have of them: above 0, at most 1 */
  constructor(share: number) {
    this.share = share
  }

  /** How many wait. */
  get waiting(): number {
    return this.queue.length
  }

  /** Takes one of `total` places, if one is free and the account has not its share yet. */
  take(account: AccountId, total: number): boolean {
    if (!this.hasRoom(account, total)) return false
    this.taken += 1
    this.held.set(account, this.heldBy(account) + 1)
    return true
  }

  /** Gives a place back. The caller decides who gets it: see `next`. */
  give(account: AccountId): void {
    const left = this.heldBy(account) - 1
    this.taken -= 1
    if (left > 0) this.held.set(account, left)
    else this.held.delete(account)
  }

  /** Waits for one of `total` places, and takes it. @throws the signal's reason once that has aborted */
  async acquire(account: AccountId, total: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.take(account, total)) return
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.leave(waiting)
        reject(signal.reason as Error)
      }
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const waiting: Waiting = { account, total, enter }
      signal.addEventListener('abort', leave, { once: true })
      this.wait(waiting)
    })
  }

  /** Gives back what `acquire` took. The next in line takes it at once: nobody else can take it in between. */
  release(account: AccountId): void {
    this.give(account)
    for (let next = this.next(); next; next = this.next()) {
      this.take(next.account, next.total)
      next.enter()
    }
  }

  /** Waits behind those who came before. */
  wait(waiting: Waiting): void {
    this.queue.push(waiting)
  }

  /** No longer waits; nothing if it does not. */
  leave(waiting: Waiting): void {
    const at = this.queue.indexOf(waiting)
    if (at >= 0) this.queue.splice(at, 1)
  }

  /** Whose turn it is: takes out of the queue who may have a place now; undefined if nobody may. */
  next(): Waiting | undefined {
    const fitting = this.queue.filter(({ account, total }) => this.hasRoom(account, total))
    const first = fitting.reduce<Waiting | undefined>(
      (best, one) => (best && this.heldBy(best.account) <= this.heldBy(one.account) ? best : one),
      undefined,
    )
    if (first) this.leave(first)
    return first
  }

  private heldBy(account: AccountId): number {
    return this.held.get(account) ?? 0
  }

  private hasRoom(account: AccountId, total: number): boolean {
    return this.taken < total && this.heldBy(account) < shareOf(total, this.share)
  }
}
