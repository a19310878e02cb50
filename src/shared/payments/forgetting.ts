/**
 * What a provider is to forget: the rows of `customers_to_forget`. They are written with what makes them needed (a card
 * is removed, an account is deleted), and stay due until the provider has forgotten.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import type { PaymentDeps } from './deps.ts'
import { ProviderUnavailable, ProviderRefused } from './provider.ts'

/** Has a provider forget a customer, or only the cards that it keeps of them now. */
export async function askToForget(
  trx: Trx,
  provider: string,
  customer: string,
  what: 'cards' | 'customer',
): Promise<void> {
  await trx.raw(
    `
    INSERT INTO customers_to_forget AS known (provider, customer, is_whole, asked_at)
    VALUES (?, ?, ?, clock_timestamp())
    ON CONFLICT (provider, customer) DO UPDATE SET is_whole = known.is_whole OR excluded.is_whole,
      asked_at = excluded.asked_at, next_try_at = now()`,
    [provider, customer, what === 'customer'],
  )
}

/** Payments of an account that its provider may still be paid for, or that an operator has to review. */
export async function undecidedPayments(trx: Trx, accountId: AccountId): Promise<number> {
  const row = await trx('payments')
    .where({ account_id: accountId })
    .whereIn('status', ['created', 'open', 'review'])
    .count({ count: '*' })
    .first<{ count: string | number }>()
  return Number(row.count)
}

/**
 * Ends what an account that is deleted has set about money: its card, automatic top-up, the mail about a low balance.
 * Its customer is forgotten by the provider, too. Its payments stay, as its ledger does. Its row must be locked.
 */
export async function closeBilling(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('accounts').where({ id: accountId }).update({
    low_balance_below: null,
    low_balance_state: 'armed',
    top_up_below: null,
    top_up_state: 'armed',
    top_up_for: null,
  })
  // Nobody was given the page of these.
  await trx('payments')
    .where({ account_id: accountId, kind: 'checkout', status: 'created' })
    .update({ status: 'failed', failure: 'account deleted', next_check_at: null, version: trx.raw('version + 1') })
  const { rows: customers } = await trx.raw<{ rows: { provider: string; customer: string }[] }>(
    `
    SELECT provider, customer FROM payments WHERE account_id = :accountId AND customer IS NOT NULL
    UNION
    SELECT p.provider, s.customer FROM billing_settings s, payments p
    WHERE s.account_id = :accountId AND p.account_id = s.account_id AND s.customer IS NOT NULL`,
    { accountId },
  )
  await trx('billing_settings').where({ account_id: accountId }).delete()
  for (const { provider, customer } of customers) await askToForget(trx, provider, customer, 'customer')
}

/** What is due to be forgotten: the ids of customers. */
export const dueForgetting = async (db: Db, provider: string, limit: number): Promise<string[]> =>
  db('customers_to_forget')
    .where({ provider })
    .where('next_try_at', '<=', db.fn.now())
    .orderBy('next_try_at')
    .limit(limit)
    .pluck<string[]>('customer')

/** How long a worker has a customer, in seconds. */
const LEASE_SECONDS = 120

/** The first pause after a provider that is unreachable, in seconds; it doubles, up to an hour. */
const FIRST_PAUSE_SECONDS = 30
const HOUR_SECONDS = 3600

/** `asked`: `asked_at` to the microsecond. */
type Row = { is_whole: boolean; asked_at: Date; asked: string; tries: number; undecided: boolean }

/**
 * Has the provider forget a customer, or their cards. Not while a payment of theirs is undecided: its provider finds
 * some of them by the customer.
 */
export async function forgetCustomer({ db, provider, log }: PaymentDeps, customer: string): Promise<void> {
  const { rows } = await db.raw<{ rows: Row[] }>(
    `
    UPDATE customers_to_forget SET tries = tries + 1, next_try_at = now() + make_interval(secs => ?)
    WHERE provider = ? AND customer = ? AND next_try_at <= now()
    RETURNING is_whole, asked_at, asked_at::text AS asked, tries,
      EXISTS (SELECT FROM payments p WHERE p.provider = customers_to_forget.provider
        AND p.customer = customers_to_forget.customer AND p.status IN ('created', 'open')) AS undecided`,
    [LEASE_SECONDS, provider.name, customer],
  )
  const row = rows[0]
  if (!row) return
  const request = db('customers_to_forget').where({ provider: provider.name, customer })
  const later = async (seconds: number): Promise<void> => {
    await request.clone().update({ next_try_at: db.raw('now() + make_interval(secs => ?)', [seconds]) })
  }
  if (row.is_whole && row.undecided) return later(HOUR_SECONDS)
  try {
    if (row.is_whole) await provider.forgetCustomer(customer)
    else await provider.forgetCards(customer, row.asked_at)
  } catch (error) {
    if (!(error instanceof ProviderUnavailable) && !(error instanceof ProviderRefused)) throw error
    log.warn({ err: error }, 'customer not forgotten by the provider')
    return later(Math.min(FIRST_PAUSE_SECONDS * 2 ** (row.tries - 1), HOUR_SECONDS))
  }
  // A request that was renewed meanwhile stays due.
  await request.clone().where({ is_whole: row.is_whole }).whereRaw('asked_at = ?::timestamptz', [row.asked]).delete()
}
