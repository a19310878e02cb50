/**
 * Automatic top-up: funds (the balance and what running calls hold) that fell below their threshold, or that a refused
 * call demanded more of, are topped up from the saved card, with nobody present. The card is charged once for each such
 * crossing or demand; where that failed, funds that are still below the threshold some hours later count as fallen
 * again.
 */
import type { Catalogue } from '../catalogue/catalogue.ts'
import { ApiError } from '../platform/errors.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { termsOf } from './checkout.ts'
import type { PaymentDeps } from './deps.ts'
import { START_OF_MONTH, countTopUp, noticeCap } from './declines.ts'
import { refuseOrder } from './ending.ts'
import { CARD_GONE, NOT_SOLD } from '../terms/failures.ts'
import { applyAndPublish } from './check.ts'
import type { PaymentRow } from './orders.ts'
import { orderOf, placeOrder } from './orders.ts'
import { ProviderUnavailable, ProviderRefused } from './provider.ts'
import { billingOf, noticeLowBalance } from './settings.ts'

/**
 * Makes the automatic top-up of an account due because a call was refused for its balance: if top-up is on, the funds
 * still do not pay the call, and no failed top-up waits for its next attempt.
 * @param charge credits that the call would have been charged at least
 */
export async function demandTopUp(db: Db, accountId: AccountId, charge: number): Promise<void> {
  const needed = db.raw('cast(? AS bigint) + debt', [charge])
  await db('accounts')
    .where({ id: accountId })
    .whereNot({ top_up_state: 'due' })
    .whereNotNull('top_up_below')
    .where('credits', '<', db.raw('? - held', [needed]))
    .whereNotExists(
      db('billing_settings').whereNotNull('top_up_retry_at').whereRaw('billing_settings.account_id = accounts.id'),
    )
    .update({ top_up_state: 'due', top_up_for: needed })
}

/** Accounts whose top-up is due, by a crossing, a demand or after a failure. */
export const dueTopUps = async (db: Db, limit: number): Promise<AccountId[]> => {
  const [crossed, again] = await Promise.all([
    db('accounts').where({ top_up_state: 'due' }).limit(limit).pluck<AccountId[]>('id'),
    db('billing_settings')
      .where('top_up_retry_at', '<=', db.fn.now())
      .orderBy('top_up_retry_at')
      .limit(limit)
      .pluck<AccountId[]>('account_id'),
  ])
  return [...new Set([...crossed, ...again])]
}

/** Tops an account up if that is due: places the order, then charges the card. */
export async function topUp(deps: PaymentDeps, catalogue: Catalogue, accountId: AccountId): Promise<void> {
  const row = await deps.db.transaction((trx) => orderTopUp(deps, trx, catalogue, accountId))
  if (!row) return
  failpoint('payment.ordered', row.id)
  await chargeCard(deps, row)
}

/** Charges the card of an automatic payment; may be repeated, since the provider charges an order once. */
export async function chargeCard(deps: PaymentDeps, row: PaymentRow): Promise<void> {
  try {
    const seen = await deps.provider.charge(orderOf(row))
    failpoint('payment.asked', row.id)
    await applyAndPublish(deps, row, seen)
  } catch (error) {
    if (error instanceof ProviderRefused) return refuseOrder(deps.db, row, error)
    if (!(error instanceof ProviderUnavailable)) throw error
    deps.log.warn({ payment: publicId('payment', row.id), err: error }, 'top-up not charged yet')
  }
}

/** Places the order of a top-up; null if none is due or allowed. */
async function orderTopUp(
  { provider, log }: PaymentDeps,
  trx: Trx,
  catalogue: Catalogue,
  accountId: AccountId,
): Promise<PaymentRow | null> {
  await lockAccount(trx, accountId)
  if (!(await takeDue(trx, accountId))) return null
  // First: a paid top-up arms the watch again, and the mail of this crossing would never be written.
  await noticeLowBalance(trx, accountId)
  const account = await trx('accounts').where({ id: accountId }).first<{ status: string }>('status')
  const { settings, customer, card } = await billingOf(trx, accountId, provider.liveMode)
  const wanted = settings.autoTopUp
  const terms = wanted && card ? termsOrNull(catalogue, wanted) : null
  if (!terms || account.status !== 'active') {
    log.warn({ account: publicId('account', accountId) }, 'top-up is no longer possible')
    if (account.status === 'active') await countTopUp(trx, accountId, card ? NOT_SOLD : CARD_GONE)
    return null
  }
  const paid = await paidThisMonth(trx, accountId, terms.currency)
  const fits = paid + terms.amount_minor <= wanted!.monthlyCapMinor
  if (!fits) await noticeCap(trx, accountId)
  if (!fits || (await hasOpenTopUp(trx, accountId))) {
    // It stays armed: so it works again in a new month.
    await trx('accounts').where({ id: accountId }).update({ top_up_state: 'armed' })
    return null
  }
  return placeOrder(trx, {
    id: newId('payment'),
    account_id: accountId,
    provider: provider.name,
    kind: 'auto',
    live_mode: provider.liveMode,
    customer,
    method: card!.method,
    ...terms,
  })
}

/**
 * Takes what makes a top-up due: a crossing, a demand, or the time after a failure. Nothing is due if the funds are not
 * low by now.
 */
async function takeDue(trx: Trx, accountId: AccountId): Promise<boolean> {
  const account = await trx('accounts')
    .where({ id: accountId })
    .first<{ top_up_state: string; is_low: boolean | null }>(
      'top_up_state',
      trx.raw('credits + held < greatest(top_up_below, top_up_for) AS is_low'),
    )
  const again = await trx('billing_settings')
    .where({ account_id: accountId })
    .where((due) => {
      void due.where('top_up_retry_at', '<=', trx.fn.now())
      if (account.top_up_state === 'due') void due.orWhereNotNull('top_up_retry_at')
    })
    .update({ top_up_retry_at: null })
  if (account.top_up_state !== 'due' && again === 0) return false
  const isLow = account.is_low === true
  await trx('accounts')
    .where({ id: accountId })
    .update({ top_up_state: isLow ? 'done' : 'armed', top_up_for: null })
  return isLow
}

function termsOrNull(catalogue: Catalogue, wanted: Parameters<typeof termsOf>[1]) {
  try {
    return termsOf(catalogue, wanted)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

/** What the automatic payments of this month (UTC) cost, undecided ones included. */
async function paidThisMonth(trx: Trx, accountId: AccountId, currency: string): Promise<number> {
  const row = await trx('payments')
    .where({ account_id: accountId, kind: 'auto', currency })
    .whereIn('status', ['created', 'open', 'paid', 'review'])
    .whereRaw(`created_at >= ${START_OF_MONTH}`)
    .sum({ sum: 'amount_minor' })
    .first<{ sum: string | number | null } | undefined>()
  return Number(row?.sum ?? 0)
}

async function hasOpenTopUp(trx: Trx, accountId: AccountId): Promise<boolean> {
  const open = await trx('payments')
    .where({ account_id: accountId, kind: 'auto' })
    .whereIn('status', ['created', 'open', 'review'])
    .first('id')
  return open !== undefined
}
