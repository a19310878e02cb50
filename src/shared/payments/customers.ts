/**
 * The provider's customer of an account, and the card that it stores. Both belong to one mode of the provider (and to
 * one account there): what it does not have any more is forgotten here, too.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { CARD_GONE } from '../terms/failures.ts'
import { askToForget } from './forgetting.ts'
import type { PaymentRow } from './orders.ts'
import type { Card, Missing } from './provider.ts'
import { billingOf, setTopUp } from './settings.ts'
import { turnTopUpOff } from './declines.ts'

/**
 * Stores the provider's customer of an account, unless it has one of this mode. One of the other mode is replaced, and
 * the card that belongs to it is forgotten.
 * @returns the one that it has.
 */
export async function saveCustomer(db: Db, accountId: AccountId, customer: string, liveMode: boolean): Promise<string> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    await trx.raw('INSERT INTO billing_settings (account_id) VALUES (?) ON CONFLICT DO NOTHING', [accountId])
    const { customer: now } = await billingOf(trx, accountId, liveMode)
    if (now !== null) {
      await trx('billing_settings').where({ account_id: accountId }).update({ live_mode: liveMode })
      return now
    }
    const { customer: other } = await billingOf(trx, accountId, null)
    if (other !== null) await forgetCustomerHere(trx, accountId, other)
    await trx('billing_settings').where({ account_id: accountId }).update({ customer, live_mode: liveMode })
    return customer
  })
}

/** Stores the card that a customer saved at a checkout, unless the account has another customer by now. */
export async function saveCard(trx: Trx, accountId: AccountId, customer: string | null, card: Card): Promise<void> {
  await trx('billing_settings').where({ account_id: accountId, customer }).update({
    card_method: card.method,
    card_brand: card.brand,
    card_last4: card.last4,
    card_exp_month: card.expMonth,
    card_exp_year: card.expYear,
  })
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

/**
 * Forgets what the provider does not have any more of an order's account: its customer, or the card. Automatic top-up
 * ends with it, and a mail reports it. The account must be locked.
 * @returns false if the account has another one by now.
 */
export async function forgetMissing(
  trx: Trx,
  { account_id: accountId, customer, method }: PaymentRow,
  missing: Missing,
): Promise<boolean> {
  const now = await billingOf(trx, accountId, null)
  if (missing === 'customer') {
    if (customer === null || now.customer !== customer) return false
    await forgetCustomerHere(trx, accountId, customer)
    return true
  }
  if (method === null || now.card?.method !== method) return false
  await turnTopUpOff(trx, accountId, CARD_GONE)
  await trx('billing_settings').where({ account_id: accountId }).update(NO_CARD)
  return true
}

async function forgetCustomerHere(trx: Trx, accountId: AccountId, customer: string): Promise<void> {
  await turnTopUpOff(trx, accountId, CARD_GONE)
  await trx('billing_settings')
    .where({ account_id: accountId, customer })
    .update({ ...NO_CARD, customer: null, live_mode: null, customer_gone: customer })
}
