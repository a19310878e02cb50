/**
 * What is done about the large body of a call: it is refused before it is read where no call can be paid, checked in
 * several turns of the event loop, and counted by its bytes where its call is refused.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import { summaryOf } from '../../../shared/identity/summary.ts'
import { offerTo } from '../../../shared/catalogue/catalogue.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { hasCalled } from '../../../shared/reports/call-records.ts'
import { mayCall } from '../../endpoint/auth.ts'
import type { WebDeps } from '../../deps.ts'
import type { LargeBody } from '../../middleware/json-body.ts'
import { isNumberedRetry } from './joined-calls.ts'
import type { CallContext } from './placed-call.ts'

type LargeDeps = Pick<WebDeps, 'db' | 'catalogue' | 'largeRefusals'>

/** The body of one call, which does nothing but count as large where it is not. */
export class LargeCall implements LargeBody {
  private readonly deps: LargeDeps
  private readonly holder: Principal
  private readonly isRetry: boolean
  private readonly modality: Model['modality']
  private bytes = 0
  private ends: (() => void) | null = null

  constructor(deps: LargeDeps, { req, state }: CallContext, modality: Model['modality']) {
    this.deps = deps
    this.holder = state.principal
    this.isRetry = req.headers['idempotency-key'] !== undefined || isNumberedRetry({ req })
    this.modality = modality
  }

  /** @throws ApiError rate_limited for too much that was refused before, insufficient_credits */
  readonly admit = async (bytes: number): Promise<void> => {
    await this.deps.largeRefusals.requireLeft(this.holder.accountId)
    // A retry of the call that took the last credits must find its answer.
    if (!this.isRetry || !(await hasCalled(this.deps.db, this.holder.accountId)))
      await requireFunds(this.deps, this.holder, this.modality)
    this.bytes = bytes
  }

  readonly hold = (end: () => void): void => {
    this.ends = end
  }

  /** Continues the work on a large body in another turn of the event loop. */
  async pause(): Promise<void> {
    if (this.bytes > 0) await nextTurn()
  }

  /** Lets the next large body have its turn. Can be repeated. */
  end(): void {
    this.ends?.()
    this.ends = null
  }

  /** Counts the body for its account, if it was read. Never throws. */
  async countRefusal(): Promise<void> {
    if (this.bytes > 0) await this.deps.largeRefusals.add(this.holder.accountId, this.bytes)
  }
}

/**
 * Refuses a call that could not be paid, of any content: the account is in debt; or it has no credits, its open calls
 * hold none, and its key may call no free model of this modality (docs/api/errors.md#the-order-of-checks).
 * @throws ApiError insufficient_credits
 */
async function requireFunds(
  { db, catalogue }: Pick<LargeDeps, 'db' | 'catalogue'>,
  holder: Principal,
  modality: Model['modality'],
): Promise<void> {
  const summary = await summaryOf(db, holder.accountId)
  if (!summary) return
  const { credits, held, debt } = summary
  if (debt > 0) throw unpaid('owes credits for earlier calls, which the next credits repay')
  if (credits + held > 0) return
  const { models } = offerTo(catalogue.current(), holder)
  for (const model of models.values())
    if (model.modality === modality && isFree(model) && mayCall(holder, model)) return
  throw unpaid('has no credits')
}

/** Only a model that states `free` has a price of zero; a group may pay nothing of any price. */
const isFree = ({ free, price }: Model): boolean => free === true || price.priceBasisPoints === 0

const unpaid = (why: string): ApiError =>
  new ApiError('insufficient_credits', {
    message: `This account ${why}, so that its request was refused before it was read. Nothing was charged.`,
  })
