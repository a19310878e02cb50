/**
 * Automatic top-up: a balance that fell below its threshold is topped up from the saved card, with nobody present. The
 * card is charged once each time the balance falls below the threshold.
 */
import type { Catalogue } from '../catalogue/catalogue.ts'
import { ApiError } from '../errors.ts'
import type { Db, Trx } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { newId } from '../ids.ts'
import { failpoint } from '../infra/failpoints.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { termsOf } from './checkout.ts'
import type { PaymentDeps } from './deps.ts'
import { failOrder } from './ending.ts'
import { applyAndPublish } from './check.ts'
import type { PaymentRow } from './orders.ts'
import { orderOf, placeOrder } from './orders.ts'
import { ProviderAway, ProviderRefused } from './provider.ts'
import { billingOf, noticeLowBalance } from './settings.ts'

/** Accounts whose top-up is due. */
export const dueTopUps = async (db: Db, limit: number): Promise<AccountId[]> =>
  db('accounts').where({ top_up_state: 'due' }).limit(limit).pluck<AccountId[]>('id')

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
    if (error instanceof ProviderRefused) return failOrder(deps.db, row, error.reason)
    if (!(error instanceof ProviderAway)) throw error
    deps.log.warn({ payment: row.id, err: error }, 'top-up not charged yet')
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
  const account = await trx('accounts')
    .where({ id: accountId })
    .first<{ top_up_state: string; status: string }>('top_up_state', 'status')
  if (account.top_up_state !== 'due') return null
  // First: a paid top-up arms the watch again, and the mail of this crossing would never be written.
  await noticeLowBalance(trx, accountId)
  const { settings, customer, card } = await billingOf(trx, accountId)
  const wanted = settings.autoTopUp
  const terms = wanted && card && account.status === 'active' ? termsOrNull(catalogue, wanted) : null
  if (!terms) log.warn({ account: accountId }, 'top-up is no longer possible')
  const fits =
    terms && (await paidThisMonth(trx, accountId, terms.currency)) + terms.amount_minor <= wanted!.monthlyCapMinor
  const order = fits && !(await hasOpenTopUp(trx, accountId))
  // Beyond the cap it stays armed, so that it works again in a new month.
  await trx('accounts')
    .where({ id: accountId })
    .update({ top_up_state: terms && !order ? 'armed' : 'done' })
  if (!order) return null
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
    .whereRaw("created_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'")
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
