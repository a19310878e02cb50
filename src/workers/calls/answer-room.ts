/**
 * What answers of upstreams hold in a worker, from their bytes on until their calls have ended
 * (docs/guarantees.md#what-a-hostile-customer-cannot-do).
 */
import type { AccountId } from '../../shared/platform/ids.ts'
import { FairQueue } from '../../shared/platform/fair-queue.ts'
import type { Share } from '../../shared/platform/fair-queue.ts'

const MEGABYTE = 1024 * 1024

/** Bytes that answers hold in a worker, all together and for one account. */
const HELD_BYTES = { total: 192 * MEGABYTE, perAccount: 128 * MEGABYTE }

/** An answer is there as its text, as the values in it, and as what is made of them. */
const COPIES = 3

/** The budget of a worker for the answers that it holds. */
export const answerBudget = ({ total, perAccount } = HELD_BYTES): { budget: FairQueue; most: number } => ({
  budget: new FairQueue({ perHolder: perAccount }, new FairQueue({ perHolder: total })),
  most: perAccount,
})

/** A worker's budget, and the most that it gives to one account, in bytes. */
export type AnswerBudget = ReturnType<typeof answerBudget>

/** The room of one call, for one answer at a time: a call that holds an answer never waits for another one. */
export class AnswerRoom {
  private readonly answers: AnswerBudget
  private readonly account: AccountId
  private share: Share | null = null
  private isClosed = false

  constructor(answers: AnswerBudget, account: AccountId) {
    this.answers = answers
    this.account = account
  }

  /**
   * Waits for the room of an answer of `bytes` bytes, which takes the place of the one before. One that is larger than
   * what an account may have takes all of that.
   * @throws the signal's reason once that has aborted
   */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    this.release()
    const { budget, most } = this.answers
    const share = await budget.take(this.account, Math.min(COPIES * bytes, most), signal)
    if (this.isClosed) share.release()
    else this.share = share
  }

  /** The answer has only `bytes` bytes. */
  lowerTo(bytes: number): void {
    this.share?.lowerTo(COPIES * bytes)
  }

  /** Gives back what the answer held. */
  release(): void {
    this.share?.release()
    this.share = null
  }

  /** The call has ended: nothing is held from here on. */
  close(): void {
    this.isClosed = true
    this.release()
  }
}
