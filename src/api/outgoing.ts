/**
 * The bytes of answers that their clients have not taken yet, over all sockets. What a client does not read lies in
 * this process, so an account, and all together, may leave so much unread and no more.
 */
import type { Context } from 'koa'
import { ApiError } from '../shared/errors.ts'
import { whenOver } from './middleware/when-over.ts'
import { Quota } from './quota.ts'

const MEGABYTE = 1024 * 1024

/** Several of the longest answers for one account, so that its own readers do not stop each other. In bytes. */
const UNREAD = { perAccount: 32 * MEGABYTE, perProcess: 96 * MEGABYTE }

/** When a client that is refused may come back, in seconds. */
const RETRY_SECONDS = 5

/** What one answer has on its way; it ends by itself with the answer's connection. */
export type Hold = {
  /** Says how many bytes are on the way now. @returns false, with nothing changed, where that is too much. */
  set: (bytes: number) => boolean
  /** As `set`. @throws ApiError overloaded. */
  require: (bytes: number) => void
}

/** An answer that is counted. `drop` closes its connection, which makes room at once. */
type Counted = { account: string; held: () => number; drop: () => void }

/**
 * The count of one process. Where it is full, the account that leaves most unread loses its largest answer: readers of
 * a few accounts must not keep everybody else from theirs.
 */
export class Outgoing {
  private readonly unread = new Quota(UNREAD)
  private readonly counted = new Set<Counted>()

  /** Begins to count for the answer to this request. */
  hold(ctx: Pick<Context, 'req' | 'res' | 'state'>): Hold {
    const { principal, session } = ctx.state as { principal?: { accountId: string }; session?: { accountId: string } }
    const account = (principal ?? session)?.accountId ?? ''
    let held = 0
    let isOver = false
    const set = (bytes: number): boolean => {
      // Nothing lies about for a connection that is closed.
      const next = isOver ? 0 : bytes
      if (next > held && !this.take(account, next - held)) return false
      if (next < held) this.unread.give(account, held - next)
      held = next
      if (held > 0) this.counted.add(mine)
      else this.counted.delete(mine)
      return true
    }
    const drop = () => {
      isOver = true
      set(0)
      ctx.req.socket.destroy()
    }
    const mine: Counted = { account, held: () => held, drop }
    whenOver(ctx, () => {
      isOver = true
      set(0)
    })
    return {
      set,
      require: (bytes) => {
        if (set(bytes)) return
        throw new ApiError('overloaded', {
          message: 'Too many answers are still being sent to slow readers. Fetch this one later: GET /v1/calls/{id}.',
          retryAfterSeconds: RETRY_SECONDS,
        })
      },
    }
  }

  /** Takes bytes for an account, if need be from accounts that hold more than it then would. */
  private take(account: string, bytes: number): boolean {
    while (!this.unread.take(account, bytes)) {
      const own = this.unread.of(account) + bytes
      if (own > UNREAD.perAccount) return false
      const greediest = [...this.counted].reduce<Counted | null>(
        (most, one) => (most && this.rank(most) >= this.rank(one) ? most : one),
        null,
      )
      if (!greediest || this.unread.of(greediest.account) <= own) return false
      greediest.drop()
    }
    return true
  }

  /** Answers of the account that holds most come first, and of these the largest. */
  private rank({ account, held }: Counted): number {
    return this.unread.of(account) * UNREAD.perProcess + held()
  }

  /** How many bytes are counted, for metrics and tests. */
  bytes(): number {
    return this.unread.all()
  }
}
