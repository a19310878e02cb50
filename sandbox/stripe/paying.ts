import type Stripe from 'stripe'
import type { StripeAccount } from './account.ts'
import { newId, seconds } from './account.ts'
import { CARDS } from './cards.ts'
import type { CardName } from './cards.ts'
import { charge, finishCharge } from './charges.ts'
import type { Decline } from './charges.ts'
import { openDispute, withdraw } from './disputes.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField } from './fields.ts'
import { chargeCard, fail, newIntent, succeed } from './intents.ts'
import { idIn } from './objects.ts'
import { attach, newMethod } from './payment-methods.ts'

/** Ways to pay that come to their end after the customer has gone: by themselves, or by a control. */
export const LATER = {
  'later-paid': 'By bank debit, which is paid in a few seconds',
  'later-failed': 'By bank debit, which fails in a few seconds',
  later: 'By bank debit, which stays open',
} as const

/** What a customer does on the page. */
export interface Payment {
  readonly way: CardName | keyof typeof LATER
  /** Whether the customer allows the card to be stored. */
  readonly keep: boolean
  /** Whether the bank has had its confirmation. */
  readonly authenticated?: boolean
}

/** The result: `done` leads back to the shop, `declined` shows the reason, `authenticate` asks the customer. */
export type Paid =
  | { readonly outcome: 'done'; readonly url: string }
  | { readonly outcome: 'declined'; readonly message: string }
  | { readonly outcome: 'authenticate' }

const BANK_DECLINE: Decline = {
  code: 'payment_method_provider_decline',
  decline: 'generic_decline',
  message: 'The bank did not pay this debit.',
}

/**
 * Pays an open session.
 * @throws {Refusal} 400 for a session that is not open
 */
export function pay(
  account: StripeAccount,
  session: Stripe.Checkout.Session,
  { way, keep, authenticated }: Payment,
  origin: string,
): Paid {
  if (session.status !== 'open') throw badField(`This session is ${session.status}.`, 'session')
  if (Object.hasOwn(LATER, way)) return payLater(account, session, way as keyof typeof LATER, origin)
  const card = CARDS[way as CardName]
  if (card.now === 'authentication' && !authenticated) return { outcome: 'authenticate' }
  const intent = intentOf(account, session)
  const method = newMethod(account, way as CardName)
  const outcome = card.now === 'authentication' ? 'paid' : card.now
  const decline = chargeCard(account, intent, method, outcome, origin)
  if (decline) return { outcome: 'declined', message: decline.message }
  keepCard(account, session, intent, method, keep)
  complete(account, session, 'paid')
  if (card.disputed) {
    withdraw(account, openDispute(account, need(account, 'charge', idIn(intent.latest_charge))))
  }
  return { outcome: 'done', url: returnUrl(session) }
}

/**
 * The bank's answer to a payment that was to come later.
 * @throws {Refusal} 400 if none is awaited
 */
export function settle(account: StripeAccount, session: Stripe.Checkout.Session, paid: boolean): void {
  const intent = session.payment_intent ? need(account, 'payment_intent', idIn(session.payment_intent)) : undefined
  if (intent?.status !== 'processing') throw badField('No payment of this session is awaited.', 'session')
  const made = need(account, 'charge', idIn(intent.latest_charge))
  const method = need(account, 'payment_method', idIn(intent.payment_method))
  finishCharge(account, made, paid ? undefined : BANK_DECLINE)
  if (paid) {
    succeed(account, intent)
    session.payment_status = 'paid'
    emit(account, 'checkout.session.async_payment_succeeded', session)
  } else {
    fail(account, intent, method, BANK_DECLINE)
    emit(account, 'checkout.session.async_payment_failed', session)
  }
}

function payLater(
  account: StripeAccount,
  session: Stripe.Checkout.Session,
  way: keyof typeof LATER,
  origin: string,
): Paid {
  const intent = intentOf(account, session)
  const method = account.objects.add<Stripe.PaymentMethod>({
    id: newId('pm'),
    object: 'payment_method',
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    created: seconds(),
    customer: null,
    customer_account: null,
    livemode: account.livemode,
    metadata: {},
    type: 'sepa_debit',
  })
  Object.assign(intent, { status: 'processing', payment_method: method.id })
  charge(account, intent, method, 'pending', origin)
  emit(account, 'payment_intent.processing', intent)
  complete(account, session, 'unpaid')
  if (way !== 'later') {
    account.timers.later(account.laterMs, () => {
      if (intent.status === 'processing') settle(account, session, way === 'later-paid')
    })
  }
  return { outcome: 'done', url: returnUrl(session) }
}

function intentOf(account: StripeAccount, session: Stripe.Checkout.Session): Stripe.PaymentIntent {
  if (session.payment_intent) return need(account, 'payment_intent', idIn(session.payment_intent))
  const { metadata, ...data } = account.intentData.get(session.id)!
  const { customer, amount_total: amount, currency } = session
  const intent = newIntent(account, { ...data, metadata, amount: amount!, currency: currency!, customer })
  session.payment_intent = intent.id
  return intent
}

function keepCard(
  account: StripeAccount,
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  keep: boolean,
): void {
  const asked = session.saved_payment_method_options?.payment_method_save === 'enabled'
  const kept = asked && keep
  if (!session.customer || (!kept && intent.setup_future_usage === null)) return
  method.allow_redisplay = kept ? 'always' : 'limited'
  attach(account, method, idIn(session.customer))
}

function complete(account: StripeAccount, session: Stripe.Checkout.Session, status: 'paid' | 'unpaid'): void {
  const customer = session.customer ? account.objects.find('customer', idIn(session.customer)) : undefined
  const email = (customer && !customer.deleted ? customer.email : undefined) ?? session.customer_email
  Object.assign(session, { status: 'complete', payment_status: status, url: null })
  session.customer_details = {
    address: null,
    business_name: null,
    email: email ?? 'customer@example.com',
    individual_name: null,
    name: null,
    phone: null,
    tax_exempt: 'none',
    tax_ids: [],
  }
  emit(account, 'checkout.session.completed', session)
}

/** Where the customer goes back to. */
export function returnUrl(session: Stripe.Checkout.Session): string {
  return (session.success_url ?? '/').replaceAll('{CHECKOUT_SESSION_ID}', session.id)
}
