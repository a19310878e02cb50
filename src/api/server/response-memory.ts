/**
 * The bytes of answers that their clients have not taken yet, over all sockets. What a client does not read stays in
 * this process, so it is limited for each account, and for all together.
 */
import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { ApiError } from '../../shared/platform/errors.ts'
import { onFinished } from './on-finished.ts'
import type { Bounds } from '../endpoint/quota.ts'
import { Quota } from '../endpoint/quota.ts'

const MEGABYTE = 1024 * 1024

/**
 * Several of the longest answers for one account, so that its own readers do not stop each other. In bytes.
 * @param longest the longest body that an endpoint takes: an item of one can be an answer
 */
export const unreadBounds = (longest: number): Bounds => ({
  perAccount: Math.max(32 * MEGABYTE, longest + MEGABYTE),
  perProcess: Math.max(96 * MEGABYTE, 2 * longest),
})

/** When a client that is refused may come back, in seconds. */
const RETRY_SECONDS = 5

/** What one answer has on its way; it ends by itself with the answer's connection. */
export class Hold {
  readonly account: string
  private readonly all: ResponseMemory
  private readonly socket: Socket
  private held = 0
  private isOver = false

  constructor(all: ResponseMemory, account: string, ctx: Pick<Context, 'req' | 'res'>) {
    this.all = all
    this.account = account
    this.socket = ctx.req.socket
    onFinished(ctx, () => this.end())
  }

  /** Sets how many bytes are on the way now. @returns false, with nothing changed, if that is too much. */
  set(bytes: number): boolean {
    // A closed connection holds nothing.
    const next = this.isOver ? 0 : bytes
    if (!this.all.change(this, this.held, next)) return false
    this.held = next
    return true
  }

  /** As `set`. @throws ApiError overloaded. */
  require(bytes: number): void {
    if (this.set(bytes)) return
    throw new ApiError('overloaded', {
      message:
        'Too many answers are still being sent to slow readers. Read them, or ask again later: the answer of a call ' +
        'is at GET /v1/calls/{id}.',
      retryAfterSeconds: RETRY_SECONDS,
    })
  }

  /** How many bytes are on the way. */
  bytes(): number {
    return this.held
  }

  /** Closes the connection, which makes room at once. */
  drop(): void {
    this.end()
    this.socket.destroy()
  }

  private end(): void {
    this.isOver = true
    this.set(0)
  }
}

/**
 * The count of one process. Where it is full, the account that has most unread loses its largest answer: readers of
 * a few accounts must not keep everybody else from theirs.
 */
export class ResponseMemory {
  private readonly perAccount: number
  private readonly perProcess: number
  private readonly unread: Quota
  private readonly counted = new Set<Hold>()
  private readonly holds = new WeakMap<Context['res'], Hold>()

  constructor(bounds: Bounds) {
    this.unread = new Quota(bounds)
    this.perAccount = bounds.perAccount
    this.perProcess = bounds.perProcess
  }

  /** The hold of the answer to this request: there is one for each answer. */
  hold(ctx: Pick<Context, 'req' | 'res' | 'state'>): Hold {
    const known = this.holds.get(ctx.res)
    if (known) return known
    const { principal, session } = ctx.state as { principal?: { accountId: string }; session?: { accountId: string } }
    const hold = new Hold(this, (principal ?? session)?.accountId ?? '', ctx)
    this.holds.set(ctx.res, hold)
    return hold
  }

  /** Whether what writes the answer to this request has taken its hold. */
  isCounted({ res }: Pick<Context, 'res'>): boolean {
    return this.holds.has(res)
  }

  /** Counts a change of what an answer has on its way. @returns false, with nothing changed, if that is too much. */
  change(one: Hold, before: number, now: number): boolean {
    if (now > before && !this.take(one.account, now - before)) return false
    if (now < before) this.unread.give(one.account, before - now)
    if (now > 0) this.counted.add(one)
    else this.counted.delete(one)
    return true
  }

  /** Takes bytes for an account, if need be from accounts that hold more than it then would. */
  private take(account: string, bytes: number): boolean {
    while (!this.unread.take(account, bytes)) {
      const own = this.unread.of(account) + bytes
      if (own > this.perAccount) return false
      const greediest = [...this.counted].reduce<Hold | null>(
        (most, one) => (most && this.rank(most) >= this.rank(one) ? most : one),
        null,
      )
      if (!greediest || this.unread.of(greediest.account) <= own) return false
      greediest.drop()
    }
    return true
  }

  /** Answers of the account that holds most come first, and of these the largest. */
  private rank(one: Hold): number {
    return this.unread.of(one.account) * this.perProcess + one.bytes()
  }

  /** How many bytes are counted, for metrics and tests. */
  bytes(): number {
    return this.unread.all()
  }
}
