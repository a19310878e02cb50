import { expect } from 'chai'
import type { ApiError } from '../../../src/shared/platform/errors.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { cancelOrder, cancelUnpaid } from '../../../src/shared/payments/cancel.ts'
import { checkOrder } from '../../../src/shared/payments/check.ts'
import { startCheckout } from '../../../src/shared/payments/checkout.ts'
import type { PaymentDeps } from '../../../src/shared/payments/deps.ts'
import { providerOf } from '../../../src/shared/payments/deps.ts'
import { undecidedPayments } from '../../../src/shared/payments/forgetting.ts'
import { findPayment, placeOrder } from '../../../src/shared/payments/orders.ts'
import { billingOf, changeSettings } from '../../../src/shared/payments/settings.ts'
import { processDueOrder } from '../../../src/shared/payments/due-orders.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, proveAddress } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { PaymentFixture } from './fixture.ts'
import { PACK, WEBHOOK_SECRET, anOrder, paymentFixture } from './fixture.ts'

describe('the customer and card of an account', () => {
  let db: Db
  let fixture: PaymentFixture
  let account: TestAccount
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 8 })
    fixture = await paymentFixture(db)
  })
  after(async () => {
    await fixture.stop()
    await db.destroy()
  })
  beforeEach(async () => {
    account = await anAccount(db)
    await proveAddress(db, account)
  })
  afterEach(() => expectBooksToBalance(db))

  const withKey = (key: string): PaymentDeps => ({
    ...fixture.deps,
    provider: providerOf({
      PAYMENTS: 'stripe',
      STRIPE_SECRET_KEY: key,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_BASE: fixture.sandbox.url,
    })!,
  })
  const live = (): PaymentDeps => withKey(fixture.stripe.liveKey)
  const mailsOf = ({ email }: TestAccount) =>
    db('mails').where({ recipient: email }).whereLike('kind', 'top_up%').pluck<string[]>('kind')
  const topUpOn = () =>
    changeSettings(db, account.id, { autoTopUp: { threshold: 10, pack: 'starter', monthlyCapMinor: 5000 } }, false)

  it('belong to a mode: a purchase in the other one has a customer of its own, and the card is not shown', async () => {
    const { customer } = await fixture.buy(account.id, undefined, true)
    await topUpOn()
    expect(await billingOf(db, account.id, true)).to.deep.include({ customer: null, card: null })
    expect((await billingOf(db, account.id, true)).settings.autoTopUp).to.equal(null)
    expect((await billingOf(db, account.id, false)).card).to.include({ last4: '4242' })
    const { row, url } = await startCheckout(live(), account.id, PACK)
    expect(row).to.include({ status: 'open', live_mode: true })
    expect([row.customer === customer, url]).to.deep.equal([false, row.page])
    expect(await billingOf(db, account.id, null)).to.deep.include({ customer: row.customer, card: null })
    expect(await mailsOf(account)).to.deep.equal(['top_up_off'])
  })

  it('are made anew where the provider has deleted the customer, as often as it does', async () => {
    await fixture.buy(account.id, undefined, true)
    await topUpOn()
    const customers = new Set<string>()
    for (let times = 0; times < 3; times++) {
      const { customer } = await billingOf(db, account.id, false)
      customers.add(customer!)
      await fixture.stripe.stripe.customers.del(customer!)
      const { row } = await startCheckout(fixture.deps, account.id, PACK)
      expect(row).to.include({ status: 'open' })
      await fixture.stripe.pay(row.session!, 'card')
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'paid' })
    }
    expect(customers).to.have.lengthOf(3)
    expect(await mailsOf(account)).to.deep.equal(['top_up_off'])
  })

  it('are made once, however many orders find at once that the customer is gone', async () => {
    const { customer } = await fixture.buy(account.id)
    await fixture.stripe.stripe.customers.del(customer!)
    const made = await Promise.all(Array.from({ length: 6 }, () => startCheckout(fixture.deps, account.id, PACK)))
    expect(new Set(made.map(({ row }) => row.customer))).to.have.lengthOf(1)
  })

  it('are made anew at another account of the provider, as on a system with a copy of the database', async () => {
    await fixture.buy(account.id, undefined, true)
    const { row } = await startCheckout(withKey('sk_test_another'), account.id, PACK)
    expect(row).to.include({ status: 'open' })
    expect((await billingOf(db, account.id, false)).card).to.equal(null)
  })

  it('are no reason to say that the provider is away, nor is any other refusal', async () => {
    await fixture.buy(account.id)
    const refusalOf = async (terms: typeof PACK) =>
      startCheckout(fixture.deps, account.id, terms).then(
        () => null,
        (error: unknown) => error as ApiError,
      )
    expect(await refusalOf({ ...PACK, amount_minor: 10 })).to.include({ code: 'invalid_amount' })
    const refused = await refusalOf({ ...PACK, currency: 'zzz' })
    expect(refused).to.include({ code: 'payments_unavailable' })
    expect(refused!.message)
      .to.match(/refused this request/)
      .and.not.match(/reached|available/)
  })

  it('may be gone by the time that a payment is read, which is credited all the same', async () => {
    const row = await fixture.order(account.id)
    await fixture.stripe.pay(row.session!, 'card', { keep: true })
    await fixture.stripe.stripe.customers.del(row.customer!)
    expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'paid' })
    expect((await billingOf(db, account.id, false)).card).to.equal(null)
  })

  it('leave orders of the other mode alone, which end in time', async () => {
    const open = await fixture.order(account.id)
    const created = await placeOrder(db, { ...anOrder(account.id), customer: open.customer })
    await processDueOrder(live(), open.id)
    await processDueOrder(live(), created.id)
    expect([(await findPayment(db, open.id))!.status, (await findPayment(db, created.id))!.status]).to.deep.equal([
      'open',
      'created',
    ])
    await db('payments')
      .where({ account_id: account.id })
      .update({ expires_at: db.raw("now() - interval '25 hours'"), created_at: db.raw("now() - interval '49 hours'") })
    await processDueOrder(live(), open.id)
    await processDueOrder(live(), created.id)
    expect(await findPayment(db, open.id)).to.include({ status: 'expired', next_check_at: null })
    expect(await findPayment(db, created.id)).to.include({ status: 'expired' })
  })
})

describe('an order that nobody has paid', () => {
  let db: Db
  let fixture: PaymentFixture
  let account: TestAccount
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 8 })
    fixture = await paymentFixture(db)
  })
  after(async () => {
    await fixture.stop()
    await db.destroy()
  })
  beforeEach(async () => {
    account = await anAccount(db)
  })
  afterEach(() => expectBooksToBalance(db))

  it('is ended at the provider, and cannot be paid any more', async () => {
    const row = await fixture.order(account.id)
    expect(await cancelOrder(fixture.deps, row.id)).to.include({ status: 'expired', page: null })
    const session = await fixture.stripe.stripe.checkout.sessions.retrieve(row.session!)
    expect(session.status).to.equal('expired')
    expect(await cancelOrder(fixture.deps, row.id), 'again').to.include({ status: 'expired' })
  })

  it('is found and ended also if the answer to its request was lost', async () => {
    await fixture.buy(account.id)
    await fixture.stripe.fault('POST /v1/checkout/sessions', '500-after')
    await fixture.order(account.id).catch(() => null)
    const waiting = await db('payments').where({ account_id: account.id, status: 'created' }).first('id')
    await cancelUnpaid(fixture.deps, account.id)
    expect(await findPayment(db, waiting.id)).to.include({ status: 'expired' })
    const { data } = await fixture.stripe.stripe.checkout.sessions.list()
    expect(data[0]).to.include({ status: 'expired' })
  })

  it('is told apart from one that is on its way, which stays open and is not cancelled', async () => {
    const row = await fixture.order(account.id)
    expect(row.page).to.match(/stripe\/pay/)
    await fixture.stripe.pay(row.session!, 'later')
    expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'open', page: null })
    expect(await cancelOrder(fixture.deps, row.id)).to.include({ status: 'open' })
    await cancelUnpaid(fixture.deps, account.id)
    expect(await db.transaction((trx) => undecidedPayments(trx, account.id))).to.equal(1)
  })

  it('is credited if it is paid in the moment before it is cancelled', async () => {
    const row = await fixture.order(account.id)
    await fixture.stripe.pay(row.session!)
    expect(await cancelOrder(fixture.deps, row.id)).to.include({ status: 'paid' })
  })

  it('waits while the provider is away, and keeps being payable', async () => {
    const row = await fixture.order(account.id)
    await fixture.stripe.fault('*', '503')
    await cancelUnpaid(fixture.deps, account.id)
    expect(await findPayment(db, row.id)).to.include({ status: 'open', page: row.page })
  })
})
