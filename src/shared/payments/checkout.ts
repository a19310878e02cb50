/** Buying credits: the order, and the provider's page on which it is paid. */
import type { Catalogue } from '../catalogue/catalogue.ts'
import { creditsFor } from '../catalogue/packs.ts'
import { ApiError } from '../platform/errors.ts'
import { stepOf } from '../terms/currencies.ts'
import type { AccountId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import { saveCustomer } from './customers.ts'
import { refuseOrder } from './ending.ts'
import type { PaymentDeps } from './deps.ts'
import { applyAndPublish } from './check.ts'
import type { NewOrder, PaymentRow } from './orders.ts'
import { findPayment, orderOf, placeOrder, setCustomer } from './orders.ts'
import { ProviderUnavailable, ProviderRefused, unavailable } from './provider.ts'
import { billingOf } from './settings.ts'

/** What to buy: a pack by its id, or an amount in the minor unit of the currency. */
export type Wanted = { pack: string } | { amountMinor: number }

/** What an order costs and gives. */
export type OrderTerms = Pick<NewOrder, 'pack' | 'currency' | 'amount_minor' | 'credits' | 'bonus'>

/** The terms of what is wanted. @throws ApiError invalid_request for an unknown pack, invalid_amount. */
export function termsOf({ packs, topUp }: Pick<Catalogue, 'packs' | 'topUp'>, wanted: Wanted): OrderTerms {
  if ('pack' in wanted) {
    const pack = packs.find(({ id }) => id === wanted.pack)
    if (!pack) throw new ApiError('invalid_request', { param: 'pack', message: 'There is no such pack.' })
    const { id, currency, amountMinor, credits, bonus } = pack
    return { pack: id, currency, amount_minor: amountMinor, credits, bonus }
  }
  if (!topUp) throw new ApiError('invalid_amount', { param: 'amountMinor', message: 'Only packs can be bought.' })
  const { amountMinor } = wanted
  if (!Number.isSafeInteger(amountMinor) || amountMinor < topUp.minMinor || amountMinor > topUp.maxMinor) {
    const message = `amountMinor must be a whole number from ${topUp.minMinor} to ${topUp.maxMinor}.`
    throw new ApiError('invalid_amount', { param: 'amountMinor', message })
  }
  const { currency } = topUp
  const step = stepOf(currency)
  if (amountMinor % step !== 0) {
    const message = `amountMinor must be a multiple of ${step} in ${currency.toUpperCase()}.`
    throw new ApiError('invalid_amount', { param: 'amountMinor', message })
  }
  return { pack: null, currency, amount_minor: amountMinor, credits: creditsFor(topUp, amountMinor), bonus: 0 }
}

/** Where the provider sends customers back to. */
const returnUrl = (baseUrl: string, row: PaymentRow): string =>
  `${baseUrl}/credits?payment=${publicId('payment', row.id)}`

/** When to try again, in seconds. */
const RETRY_SECONDS = 30

/**
 * Orders credits, and opens the page on which they are paid. Where the provider no longer has the account's customer, a
 * second order takes the place of the first, with another customer: an order is one request, under one key.
 * @throws ApiError payments_unavailable if the provider does not answer (the order waits, and costs nothing) or
 * refuses; invalid_amount.
 */
export async function startCheckout(
  deps: PaymentDeps,
  accountId: AccountId,
  terms: OrderTerms,
): Promise<{ row: PaymentRow; url: string }> {
  try {
    try {
      return await orderAndOpen(deps, accountId, terms)
    } catch (error) {
      if (!(error instanceof ProviderRefused && error.missing === 'customer')) throw error
      return await orderAndOpen(deps, accountId, terms)
    }
  } catch (error) {
    const problem = unavailable(error, RETRY_SECONDS)
    deps.log.warn({ account: publicId('account', accountId), err: error }, 'checkout not opened')
    throw problem
  }
}

async function orderAndOpen(
  deps: PaymentDeps,
  accountId: AccountId,
  terms: OrderTerms,
): Promise<{ row: PaymentRow; url: string }> {
  const { db, provider } = deps
  const { customer } = await billingOf(db, accountId, provider.liveMode)
  const row = await placeOrder(db, {
    id: newId('payment'),
    account_id: accountId,
    provider: provider.name,
    kind: 'checkout',
    live_mode: provider.liveMode,
    customer,
    ...terms,
  })
  failpoint('payment.ordered', row.id)
  try {
    return await openCheckout(deps, row)
  } catch (error) {
    if (error instanceof ProviderRefused) await refuseOrder(db, (await findPayment(db, row.id))!, error)
    throw error
  }
}

/** Asks for the page of an order; may be repeated, since the provider gives an order the same page. */
export async function openCheckout(deps: PaymentDeps, row: PaymentRow): Promise<{ row: PaymentRow; url: string }> {
  const customer = row.customer ?? (await customerFor(deps, row))
  const order = { ...orderOf(row), customer }
  const { seen, url } = await deps.provider.createCheckout(order, returnUrl(deps.baseUrl, row))
  failpoint('payment.asked', row.id)
  const applied = await applyAndPublish(deps, row, seen)
  const now = applied?.row ?? (await findPayment(deps.db, row.id))!
  if (now.status === 'review' || now.status === 'created')
    throw new ProviderUnavailable('the checkout differs from the order')
  return { row: now, url }
}

/** The provider's customer of an order's account, created and stored. */
async function customerFor({ db, provider }: PaymentDeps, row: PaymentRow): Promise<string> {
  const { customerGone } = await billingOf(db, row.account_id, provider.liveMode)
  const made = await provider.customerOf(row.account_id, customerGone)
  const customer = await saveCustomer(db, row.account_id, made, provider.liveMode)
  await setCustomer(db, row.id, customer)
  return customer
}
