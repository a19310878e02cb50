import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { grantOrdered } from '../../../src/shared/payments/apply.ts'
import { startCheckout } from '../../../src/shared/payments/checkout.ts'
import type { OrderTerms } from '../../../src/shared/payments/checkout.ts'
import type { PaymentDeps } from '../../../src/shared/payments/deps.ts'
import { providerOf } from '../../../src/shared/payments/deps.ts'
import { checkOrder } from '../../../src/shared/payments/check.ts'
import type { NewOrder, PaymentRow, PaymentStatus } from '../../../src/shared/payments/orders.ts'
import { findPayment, placeOrder } from '../../../src/shared/payments/orders.ts'
import { changeSettings } from '../../../src/shared/payments/settings.ts'
import type { Catalogue } from '../../../src/shared/catalogue/catalogue.ts'
import { anAccount, proveAddress } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { StripeAccount } from '../../../scripts/harness/stripe-sandbox.ts'
import { useFor } from '../../support/gateway.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'

const WEBHOOK_SECRET = 'whsec_of_the_tests'

/** The settings of payments at a sandbox. */
export const stripeAt = (url: string, key: string) =>
  ({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: key,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_BASE: url,
  }) as const

/** A pack of 1,000 credits and a bonus of 50 for 10.00 EUR. */
export const PACK: OrderTerms = { pack: 'starter', currency: 'eur', amount_minor: 1000, credits: 1000, bonus: 50 }

/** An order of a pack, as it is written before Stripe is asked. */
export const anOrder = (account: AccountId): NewOrder => ({
  id: newId('payment'),
  account_id: account,
  provider: 'stripe',
  kind: 'checkout',
  live_mode: false,
  ...PACK,
})

/** A payment that was paid, with its grants, and that no Stripe knows. */
export const aPaidPayment = (db: Db, account: AccountId): Promise<PaymentRow> =>
  db.transaction(async (trx) => {
    const row = await placeOrder(trx, anOrder(account))
    const { id } = row
    await trx('payments')
      .where({ id })
      .update({ status: 'paid', paid_at: trx.fn.now(), session: `cs_${id}`, intent: `pi_${id}` })
    await grantOrdered(trx, row)
    return (await findPayment(trx, id))!
  })

/** The verbs of payments over a Stripe that is the sandbox. */
export type PaymentFixture = {
  sandbox: Sandbox
  stripe: StripeAccount
  deps: PaymentDeps
  differences: string[]
  /** Orders a pack. */
  order: (account: AccountId, terms?: OrderTerms) => Promise<PaymentRow>
  /** Orders a pack, pays for it by a card, and looks. */
  buy: (account: AccountId, terms?: OrderTerms, keep?: boolean) => Promise<PaymentRow>
  stop: () => Promise<void>
}

/** A pack as a catalogue sells it, by which accounts are topped up. */
export const SOLD = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 50 }
export const catalogue = { packs: [SOLD], topUp: null } as unknown as Catalogue

/** An account with 1,050 credits and a card, which is topped up below 500. */
export async function aBuyer({ deps: { db }, buy }: PaymentFixture, monthlyCapMinor = 100_000): Promise<TestAccount> {
  const account = await anAccount(db)
  await proveAddress(db, account)
  await buy(account.id, undefined, true)
  await changeSettings(db, account.id, { autoTopUp: { threshold: 500, pack: SOLD.id, monthlyCapMinor } }, false)
  return account
}

/** The statuses of the automatic payments of an account, oldest first. */
export const autos = (db: Db, id: AccountId): Promise<PaymentStatus[]> =>
  db('payments').where({ account_id: id, kind: 'auto' }).orderBy('id').pluck<PaymentStatus[]>('status')

/** The kinds of the mails to an account's address, oldest first. */
export const mailsTo = (db: Db, { email }: TestAccount): Promise<string[]> =>
  db('mails').where({ recipient: email }).orderBy('id').pluck<string[]>('kind')

/** The payments of a suite. */
export const usePayments = (db: Db): PaymentFixture =>
  useFor(
    () => paymentFixture(db),
    ({ stop }) => stop(),
  )

export async function paymentFixture(db: Db): Promise<PaymentFixture> {
  const sandbox = await createSandbox({})
  const stripe = stripeAccountAt(sandbox.url)
  const differences: string[] = []
  const provider = providerOf(stripeAt(sandbox.url, stripe.key))!
  const deps: PaymentDeps = {
    db,
    log: createLog('silent', 'worker'),
    provider,
    baseUrl: 'http://tollgate.test',
    observer: {
      statusReached: () => {},
      differenceFound: (what) => void differences.push(what),
      eventHandled: () => {},
    },
    publishBalance: () => {},
  }
  const order = async (account: AccountId, terms = PACK) => (await startCheckout(deps, account, terms)).row
  return {
    sandbox,
    stripe,
    deps,
    differences,
    order,
    buy: async (account, terms, keep = false) => {
      const row = await order(account, terms)
      await stripe.pay(row.session!, 'card', { keep })
      return (await checkOrder(deps, row.id))!
    },
    stop: () => sandbox.close(),
  }
}
