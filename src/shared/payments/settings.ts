/**
 * An account's billing settings: the low balance mail, automatic top-up, and the saved card that pays for it. The
 * thresholds are in the account's row, which every movement of credits updates (`sql/watch_balance.sql`).
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { failureWords } from '../terms/failures.ts'
import { mailOwner } from '../identity/owner-mail.ts'
import type { Card } from './provider.ts'

/** Automatic top-up: below `threshold` credits it buys a pack or an amount, up to a cap per month (UTC). */
export type AutoTopUp = { threshold: number; monthlyCapMinor: number } & ({ pack: string } | { amountMinor: number })

/** What an account's owner has set, thresholds in credits; null is off. */
export type Settings = { lowBalance: { threshold: number } | null; autoTopUp: AutoTopUp | null }

/** The saved card, as its owner sees it. */
export type ShownCard = Omit<Card, 'method'>

/** Why the last automatic top-up failed: a code of `failures.ts`, or the provider's. `retryAt`: when it is repeated. */
export type TopUpFailure = { failure: string; at: Date; retryAt: Date | null }

/**
 * How an account pays. `customer` and `method` are the provider's ids; `customerGone` is the customer before, which the
 * provider no longer has.
 */
export type Billing = {
  settings: Settings
  debt: number
  customer: string | null
  customerGone: string | null
  card: Card | null
  declines: number
  topUpFailure: TopUpFailure | null
}

type BillingRow = {
  debt: number
  low_balance_below: number | null
  top_up_below: number | null
  customer: string | null
  live_mode: boolean | null
  customer_gone: string | null
  card_method: string | null
  card_brand: string
  card_last4: string
  card_exp_month: number
  card_exp_year: number
  top_up_pack: string | null
  top_up_amount_minor: number | null
  top_up_monthly_cap_minor: number | null
  top_up_declines: number | null
  top_up_failure: string | null
  top_up_failed_at: Date | null
  top_up_retry_at: Date | null
}

/**
 * How an account pays, and what it owes. A customer and a card belong to a mode of the provider: `liveMode` is the one
 * that is asked now, where those of the other do not exist; with null they are returned in any mode.
 */
export async function billingOf(db: Db | Trx, accountId: AccountId, liveMode: boolean | null): Promise<Billing> {
  const row = await db('accounts')
    .leftJoin('billing_settings as billing', 'billing.account_id', 'accounts.id')
    .where('accounts.id', accountId)
    .first<BillingRow>('billing.*', 'accounts.debt', 'accounts.low_balance_below', 'accounts.top_up_below')
  const isOfMode = liveMode === null || row.live_mode === null || row.live_mode === liveMode
  return {
    settings: {
      lowBalance: row.low_balance_below === null ? null : { threshold: row.low_balance_below },
      autoTopUp: isOfMode ? topUpOf(row) : null,
    },
    debt: row.debt,
    customer: isOfMode ? row.customer : null,
    customerGone: row.customer_gone,
    card: isOfMode ? cardOf(row) : null,
    declines: row.top_up_declines ?? 0,
    topUpFailure: failureOf(row),
  }
}

const failureOf = ({ top_up_failure: failure, top_up_failed_at: at, top_up_retry_at: retryAt }: BillingRow) =>
  failure !== null && at !== null ? { failure, at, retryAt } : null

function topUpOf(row: BillingRow): AutoTopUp | null {
  const { top_up_below: threshold, top_up_monthly_cap_minor: monthlyCapMinor, top_up_pack: pack } = row
  if (threshold === null || monthlyCapMinor === null) return null
  return pack === null
    ? { threshold, amountMinor: row.top_up_amount_minor!, monthlyCapMinor }
    : { threshold, pack, monthlyCapMinor }
}

const cardOf = (row: BillingRow): Card | null =>
  row.card_method === null
    ? null
    : {
        method: row.card_method,
        brand: row.card_brand,
        last4: row.card_last4,
        expMonth: row.card_exp_month,
        expYear: row.card_exp_year,
      }

/** A card's details for its owner. */
export const presentCard = (card: Card | null): ShownCard | null => {
  if (!card) return null
  const { method: _method, ...shown } = card
  return shown
}

/** Why the last automatic top-up failed, for its owner. */
export const presentTopUpFailure = ({ failure, at, retryAt }: TopUpFailure) => ({
  reason: failureWords(failure),
  at: at.toISOString(),
  retryAt: retryAt?.toISOString() ?? null,
})

/** Sets what is named; null turns it off. @returns false if automatic top-up is wanted and no card is stored. */
export async function changeSettings(
  db: Db,
  accountId: AccountId,
  wanted: Partial<Settings>,
  liveMode: boolean,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    const { lowBalance, autoTopUp } = wanted
    if (autoTopUp && (await billingOf(trx, accountId, liveMode)).card === null) return false
    // Setting the same threshold again does not arm the watch again: its mail was sent.
    if (lowBalance !== undefined)
      await trx('accounts')
        .where({ id: accountId })
        .whereRaw('low_balance_below IS DISTINCT FROM cast(? AS bigint)', [lowBalance?.threshold ?? null])
        .update({ low_balance_below: lowBalance?.threshold ?? null, low_balance_state: 'armed' })
    if (autoTopUp !== undefined) await setTopUp(trx, accountId, autoTopUp)
    return true
  })
}

/** Sets automatic top-up anew; null turns it off. Earlier failures no longer count. The account must be locked. */
export async function setTopUp(trx: Trx, accountId: AccountId, wanted: AutoTopUp | null): Promise<void> {
  await trx('accounts')
    .where({ id: accountId })
    .update({ top_up_below: wanted?.threshold ?? null, top_up_state: 'armed', top_up_for: null })
  await trx('billing_settings')
    .where({ account_id: accountId })
    .update({
      top_up_pack: wanted && 'pack' in wanted ? wanted.pack : null,
      top_up_amount_minor: wanted && 'amountMinor' in wanted ? wanted.amountMinor : null,
      top_up_monthly_cap_minor: wanted?.monthlyCapMinor ?? null,
      top_up_declines: 0,
      top_up_failure: null,
      top_up_failed_at: null,
      top_up_retry_at: null,
    })
}

/** Queues the mails for balances that fell below their threshold. @returns how many. */
export async function noticeLowBalances(db: Db, limit: number): Promise<number> {
  const due = await db('accounts').where({ low_balance_state: 'due' }).limit(limit).pluck<AccountId[]>('id')
  for (const id of due) await db.transaction((trx) => noticeLowBalance(trx, id))
  return due.length
}

/** Queues the mail for an account's balance that fell below its threshold, if one is due. */
export async function noticeLowBalance(trx: Trx, accountId: AccountId): Promise<void> {
  const [row] = await trx('accounts')
    .where({ id: accountId, low_balance_state: 'due' })
    .update({ low_balance_state: 'done' })
    .returning<{ credits: number; low_balance_below: number }[]>(['credits', 'low_balance_below'])
  if (row) await mailOwner(trx, accountId, 'low_balance', { credits: row.credits, threshold: row.low_balance_below })
}
