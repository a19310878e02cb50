/**
 * A queue that is fair by holder: each holder has so much in work at once, and what is more waits in the order in which
 * it came, without keeping other holders waiting.
 */
import { ApiError } from './errors.ts'

/** What one holder may have in work at once, in any unit, and how many of its requests may wait as well. */
export type QueueBounds = { perHolder: number; waiting?: number }

/** What was taken of a queue. */
export type Share = {
  /** Reduces the share to so much; it is never raised. */
  lowerTo: (cost: number) => void
  /** Gives all of it back. May be called again. */
  release: () => void
}

type Line = { inWork: number; waiting: { cost: number; begin: () => void }[] }

/** When a request that cannot even wait may be sent again, in seconds. */
const RETRY_SECONDS = 2

/**
 * Gives holders their turns. A request is not overtaken by smaller ones of its holder, and a holder with nothing in
 * work may begin one of any cost.
 */
export class FairQueue {
  private readonly perHolder: number
  private readonly waiting: number
  private readonly all: FairQueue | undefined
  private readonly lines = new Map<string, Line>()

  /** @param all where the turns of all holders, one each at a time, wait for each other: its only holder is '' */
  constructor({ perHolder, waiting = Infinity }: QueueBounds, all?: FairQueue) {
    this.perHolder = perHolder
    this.waiting = waiting
    this.all = all
  }

  /**
   * Waits for the turn of a request.
   * @throws ApiError rate_limited if too many wait already; the signal's reason once that has aborted
   */
  async take(holder: string, cost = 1, signal?: AbortSignal): Promise<Share> {
    signal?.throwIfAborted()
    const line = this.lines.get(holder) ?? { inWork: 0, waiting: [] }
    if (line.waiting.length >= this.waiting && !this.hasRoom(line, cost)) {
      const message = 'Too many requests at once. Wait for some of their answers.'
      throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    this.lines.set(holder, line)
    await this.turn(holder, line, cost, signal)
    let held = cost
    let inAll: Share | undefined
    const lowerTo = (next: number): void => {
      if (next >= held) return
      line.inWork -= held - next
      held = next
      inAll?.lowerTo(next)
      this.serve(holder, line)
    }
    try {
      inAll = await this.all?.take('', cost, signal)
    } catch (error) {
      lowerTo(0)
      throw error
    }
    return { lowerTo, release: () => lowerTo(0) }
  }

  /** Does the work of a request when it is its turn. @throws as `take`, and what the work throws */
  async during<T>(holder: string, work: () => Promise<T>): Promise<T> {
    const { release } = await this.take(holder)
    try {
      return await work()
    } finally {
      release()
    }
  }

  private turn(holder: string, line: Line, cost: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.waiting = line.waiting.filter((one) => one !== mine)
        reject(signal!.reason as Error)
        // The next one may cost less.
        this.serve(holder, line)
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const mine = { cost, begin }
      line.waiting.push(mine)
      signal?.addEventListener('abort', leave, { once: true })
      this.serve(holder, line)
    })
  }

  private serve(holder: string, line: Line): void {
    for (let next = line.waiting[0]; next && this.hasRoom(line, next.cost); next = line.waiting[0]) {
      line.inWork += next.cost
      line.waiting.shift()
      next.begin()
    }
    if (line.inWork === 0 && line.waiting.length === 0) this.lines.delete(holder)
  }

  private hasRoom({ inWork }: Line, cost: number): boolean {
    return inWork === 0 || inWork + cost <= this.perHolder
  }
}
