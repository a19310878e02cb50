/**
 * Automatic top-up: a balance that fell below its threshold is topped up from the card that was kept, with nobody
 * there. Each crossing asks the card once.
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
import { settleSeen } from './look.ts'
import type { PaymentRow } from './orders.ts'
import { orderOf, placeOrder } from './orders.ts'
import { ProviderAway, ProviderRefused } from './provider.ts'
import { billingOf } from './settings.ts'

/** Accounts whose balance wants to be topped up. */
export const dueTopUps = async (db: Db, limit: number): Promise<AccountId[]> =>
  db('accounts').where({ top_up_state: 'due' }).limit(limit).pluck<AccountId[]>('id')

/** Tops an account up, where it is due: writes the order, then asks the card. */
export async function topUp(deps: PaymentDeps, catalogue: Catalogue, accountId: AccountId): Promise<void> {
  const row = await deps.db.transaction((trx) => orderTopUp(deps, trx, catalogue, accountId))
  if (!row) return
  failpoint('payment.ordered', row.id)
  await chargeCard(deps, row)
}

/** Asks the card of an automatic payment, as often as it takes: the provider knows the order by its id. */
export async function chargeCard(deps: PaymentDeps, row: PaymentRow): Promise<void> {
  try {
    const seen = await deps.provider.charge(orderOf(row))
    failpoint('payment.asked', row.id)
    await settleSeen(deps, row, seen)
  } catch (error) {
    if (error instanceof ProviderRefused) return failOrder(deps.db, row, error.reason)
    if (!(error instanceof ProviderAway)) throw error
    deps.log.warn({ payment: row.id, err: error }, 'top-up not asked for yet')
  }
}

/** The order of a top-up, the crossing used up by it; null where none is wanted or may be. */
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
  const { settings, customer, card } = await billingOf(trx, accountId)
  const wanted = settings.autoTopUp
  const terms = wanted && card && account.status === 'active' ? termsOrNull(catalogue, wanted) : null
  if (!terms) log.warn({ account: accountId }, 'top-up is not possible any more')
  const fits =
    terms && (await paidThisMonth(trx, accountId, terms.currency)) + terms.amount_minor <= wanted!.monthlyCapMinor
  const order = fits && !(await hasOpenTopUp(trx, accountId))
  // Beyond the cap the watch stays armed, so that a new month begins by itself.
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

/** What automatic payments of this month of UTC cost, those included that are not decided yet. */
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
