/**
 * An account's billing settings: the low balance mail, automatic top-up, and the saved card that pays for it. The
 * thresholds are in the account's row, which every movement of credits updates (`sql/watch_balance.sql`).
 */
import type { Db, Trx } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { askToForget } from './forgetting.ts'
import { mailOwner } from './mails.ts'
import type { Card } from './provider.ts'

/** Automatic top-up: below `threshold` credits it buys a pack or an amount, up to a cap per month (UTC). */
export type AutoTopUp = { threshold: number; monthlyCapMinor: number } & ({ pack: string } | { amountMinor: number })

/** What an account's owner has set, thresholds in credits; null is off. */
export type Settings = { lowBalance: { threshold: number } | null; autoTopUp: AutoTopUp | null }

/** The saved card, as its owner sees it. */
export type ShownCard = Omit<Card, 'method'>

/** How an account pays. `customer` and `method` are the provider's ids. */
export type Billing = {
  settings: Settings
  debt: number
  customer: string | null
  card: Card | null
  declines: number
}

type BillingRow = {
  debt: number
  low_balance_below: number | null
  top_up_below: number | null
  customer: string | null
  card_method: string | null
  card_brand: string
  card_last4: string
  card_exp_month: number
  card_exp_year: number
  top_up_pack: string | null
  top_up_amount_minor: number | null
  top_up_monthly_cap_minor: number | null
  top_up_declines: number | null
}

/** How an account pays, and what it owes. */
export async function billingOf(db: Db | Trx, accountId: AccountId): Promise<Billing> {
  const row = await db('accounts')
    .leftJoin('billing_settings as billing', 'billing.account_id', 'accounts.id')
    .where('accounts.id', accountId)
    .first<BillingRow>('billing.*', 'accounts.debt', 'accounts.low_balance_below', 'accounts.top_up_below')
  return {
    settings: {
      lowBalance: row.low_balance_below === null ? null : { threshold: row.low_balance_below },
      autoTopUp: topUpOf(row),
    },
    debt: row.debt,
    customer: row.customer,
    card: cardOf(row),
    declines: row.top_up_declines ?? 0,
  }
}

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

/** Sets what is named; null turns it off. @returns false if automatic top-up is wanted and no card is kept. */
export async function changeSettings(db: Db, accountId: AccountId, wanted: Partial<Settings>): Promise<boolean> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    const { lowBalance, autoTopUp } = wanted
    if (autoTopUp && (await billingOf(trx, accountId)).card === null) return false
    if (lowBalance !== undefined)
      await trx('accounts')
        .where({ id: accountId })
        .update({ low_balance_below: lowBalance?.threshold ?? null, low_balance_state: 'armed' })
    if (autoTopUp !== undefined) await setTopUp(trx, accountId, autoTopUp)
    return true
  })
}

async function setTopUp(trx: Trx, accountId: AccountId, wanted: AutoTopUp | null): Promise<void> {
  await trx('accounts')
    .where({ id: accountId })
    .update({ top_up_below: wanted?.threshold ?? null, top_up_state: 'armed' })
  await trx('billing_settings')
    .where({ account_id: accountId })
    .update({
      top_up_pack: wanted && 'pack' in wanted ? wanted.pack : null,
      top_up_amount_minor: wanted && 'amountMinor' in wanted ? wanted.amountMinor : null,
      top_up_monthly_cap_minor: wanted?.monthlyCapMinor ?? null,
      top_up_declines: 0,
    })
}

/** Stores the provider's customer of an account, unless it has one. @returns the one that it has. */
export async function keepCustomer(db: Db, accountId: AccountId, customer: string): Promise<string> {
  // Two statements: ON CONFLICT (account_id) DO UPDATE fails where another transaction inserts the same customer.
  await db.raw('INSERT INTO billing_settings (account_id) VALUES (?) ON CONFLICT DO NOTHING', [accountId])
  const { rows } = await db.raw<{ rows: { customer: string }[] }>(
    'UPDATE billing_settings SET customer = coalesce(customer, ?) WHERE account_id = ? RETURNING customer',
    [customer, accountId],
  )
  return rows[0]!.customer
}

/** Stores the card that was saved at a checkout. */
export async function keepCard(trx: Trx, accountId: AccountId, card: Card): Promise<void> {
  const columns = {
    card_method: card.method,
    card_brand: card.brand,
    card_last4: card.last4,
    card_exp_month: card.expMonth,
    card_exp_year: card.expYear,
  }
  await trx('billing_settings')
    .insert({ account_id: accountId, ...columns })
    .onConflict('account_id')
    .merge(columns)
}

const NO_CARD = { card_method: null, card_brand: null, card_last4: null, card_exp_month: null, card_exp_year: null }

/** Forgets the card, and with it automatic top-up; a worker has the provider forget it. */
export async function dropCard(db: Db, provider: string, accountId: AccountId): Promise<void> {
  await db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    await setTopUp(trx, accountId, null)
    const [row] = await trx('billing_settings')
      .where({ account_id: accountId })
      .update(NO_CARD)
      .returning<{ customer: string | null }[]>('customer')
    if (row?.customer) await askToForget(trx, provider, row.customer, 'cards')
  })
}

/** After this many declines in a row automatic top-up is turned off. */
const MAX_DECLINES = 3

/** Counts an automatic payment; the third decline in a row turns automatic top-up off, with a mail. */
export async function countTopUp(trx: Trx, accountId: AccountId, failure: string | null): Promise<void> {
  const { declines, settings } = await billingOf(trx, accountId)
  if (failure !== null && settings.autoTopUp !== null && declines + 1 >= MAX_DECLINES) {
    await setTopUp(trx, accountId, null)
    await mailOwner(trx, accountId, 'top_up_off', { failure })
    return
  }
  await trx('billing_settings')
    .where({ account_id: accountId })
    .update({ top_up_declines: failure === null ? 0 : Math.min(declines + 1, MAX_DECLINES - 1) })
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
