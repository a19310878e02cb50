/**
 * Refunds by operators: the credits are taken first, then the provider is asked. If it refuses for good, they are given
 * back.
 */
import { ApiError } from '../platform/errors.ts'
import type { PaymentId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import { lockAccount, remainingOfPayment, reversePayment } from '../ledger/ledger.ts'
import { recordAction } from '../action-log/actions.ts'
import { refuseOwnAccount } from '../action-log/own-account.ts'
import { reversedAt } from './decide.ts'
import { stepOf } from '../terms/currencies.ts'
import type { PaymentDeps } from './deps.ts'
import { checkOrder } from './check.ts'
import type { PaymentRow } from './orders.ts'
import { scheduleCheck, findPayment, lockPayment, orderOf } from './orders.ts'
import { ProviderUnavailable, ProviderRefused } from './provider.ts'
import type { RefundRow } from './refund-rows.ts'
import { endRefund, refundsOf, writeRefund } from './refund-rows.ts'

/** What to refund: all that is left, unless an amount is given. `force`: even if credits are spent. */
export type RefundRequest = { amountMinor?: number; force?: boolean }

/** When a refund is checked or asked for again, in seconds. */
const AGAIN_SECONDS = 60

/**
 * Refunds a payment.
 * @throws ApiError not_found, invalid_amount, credits_spent (with their number), invalid_request if it was not paid
 * or the provider refuses.
 */
export async function refundPayment(
  deps: PaymentDeps,
  operator: UserId | null,
  id: PaymentId,
  request: RefundRequest,
): Promise<{ row: PaymentRow; refund: RefundRow }> {
  const found = await findPayment(deps.db, id)
  if (!found) throw new ApiError('not_found')
  const { refundId, balance } = await takeCredits(deps, operator, found, request)
  deps.publishBalance(found.account_id, balance)
  failpoint('payment.refunding', id)
  const row = (await findPayment(deps.db, id))!
  const asked = (await refundsOf(deps.db, id)).find((one) => one.id === refundId)!
  await askRefund(deps, row, asked)
  const refund = (await refundsOf(deps.db, id)).find((one) => one.id === refundId)!
  if (refund.status === 'refused') {
    const message = `The payment provider refused the refund (${refund.failure}). The credits were given back.`
    throw new ApiError('invalid_request', { message })
  }
  return { row: (await findPayment(deps.db, id))!, refund }
}

async function takeCredits(
  { db }: PaymentDeps,
  operator: UserId | null,
  found: PaymentRow,
  { amountMinor, force = false }: RefundRequest,
) {
  return db.transaction(async (trx) => {
    await refuseOwnAccount(trx, operator, found.account_id)
    await lockAccount(trx, found.account_id)
    const row = await lockPayment(trx, found.id)
    if (row.status !== 'paid')
      throw new ApiError('invalid_request', { message: 'Only a paid payment can be refunded.' })
    if (row.intent === null)
      throw new ApiError('invalid_request', { message: 'No money of this payment was found at its provider.' })
    const left = row.amount_minor - row.refunded_minor - row.disputed_minor
    const amount = amountMinor ?? left
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > left) {
      const message = left > 0 ? `The amount must be a whole number from 1 to ${left}.` : 'Nothing is left to refund.'
      throw new ApiError('invalid_amount', { param: 'amountMinor', message })
    }
    const step = stepOf(row.currency)
    if (amount !== left && amount % step !== 0) {
      const message = `The amount must be a multiple of ${step} in ${row.currency.toUpperCase()}.`
      throw new ApiError('invalid_amount', { param: 'amountMinor', message })
    }
    const refundedMinor = row.refunded_minor + amount
    const reversed = reversedAt(row, { refundedMinor, disputedMinor: row.disputed_minor })
    const spent = Math.max(0, reversed - row.reversed - (await remainingOfPayment(trx, row.id)))
    if (spent > 0 && !force)
      throw new ApiError('credits_spent', { message: `${spent} of these credits are already spent.` })
    const refundId = newId('refund')
    await writeRefund(trx, { id: refundId, paymentId: row.id, amountMinor: amount, operator })
    await trx('payments')
      .where({ id: row.id })
      .update({ refunded_minor: refundedMinor, version: row.version + 1, next_check_at: soon(trx) })
    const balance = await reversePayment(trx, row.id, reversed)
    await recordAction(trx, operator, 'payment_refunded', row.account_id, {
      payment: publicId('payment', row.id),
      refund: publicId('refund', refundId),
      amountMinor: amount,
      currency: row.currency,
      credits: reversed - row.reversed,
      spent,
    })
    return { refundId, balance }
  })
}

const soon = (trx: PaymentDeps['db']) => trx.raw('now() + make_interval(secs => ?)', [AGAIN_SECONDS])

/** How long the provider remembers a refund by its id, in ms: after that it is not asked again. */
const KNOWN_MS = 23 * 3_600_000

/** Asks the provider for a refund; may be repeated. If the provider refuses for good, the credits are given back. */
export async function askRefund(deps: PaymentDeps, row: PaymentRow, refund: RefundRow): Promise<void> {
  const { db, provider, log } = deps
  try {
    if (Date.now() - refund.created_at.getTime() > KNOWN_MS) throw new ProviderRefused('no answer in a day', null)
    const reference = await provider.refund(orderOf(row), { id: refund.id, amountMinor: refund.amount_minor })
    failpoint('payment.refunded', row.id)
    await db.transaction(async (trx) => {
      await trx('payments').where({ id: row.id }).increment('version', 1)
      await endRefund(trx, refund.id, { status: 'taken', reference })
    })
  } catch (error) {
    if (error instanceof ProviderRefused) return giveBack(deps, row, refund, error.reason)
    if (!(error instanceof ProviderUnavailable)) throw error
    log.warn({ payment: publicId('payment', row.id), err: error }, 'refund not asked for yet')
    await scheduleCheck(db, row.id, AGAIN_SECONDS)
    return
  }
  await checkOrder(deps, row.id).catch((error: unknown) =>
    log.warn({ payment: publicId('payment', row.id), err: error }, 'refund not read yet'),
  )
}

async function giveBack(
  deps: PaymentDeps,
  { id, account_id: accountId }: PaymentRow,
  refund: RefundRow,
  reason: string,
) {
  const balance = await deps.db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    const row = await lockPayment(trx, id)
    const asked = (await refundsOf(trx, id)).find((one) => one.id === refund.id)
    if (asked?.status !== 'asked') return null
    await endRefund(trx, refund.id, { status: 'refused', failure: reason })
    const refundedMinor = row.refunded_minor - refund.amount_minor
    await trx('payments')
      .where({ id })
      .update({ refunded_minor: refundedMinor, version: row.version + 1 })
    return reversePayment(trx, id, reversedAt(row, { refundedMinor, disputedMinor: row.disputed_minor }))
  })
  deps.log.warn({ payment: publicId('payment', id), reason }, 'refund refused: its credits were given back')
  if (balance !== null) deps.publishBalance(accountId, balance)
}
