import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Obstacle } from '../../../src/shared/operators/changes.ts'
import { deleteAccount } from '../../../src/shared/operators/changes.ts'
import { dueForgetting, forgetCustomer } from '../../../src/shared/payments/forgetting.ts'
import { findPayment } from '../../../src/shared/payments/orders.ts'
import { dropCard } from '../../../src/shared/payments/customers.ts'
import { billingOf, changeSettings } from '../../../src/shared/payments/settings.ts'
import { processDueOrder } from '../../../src/shared/payments/due-orders.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { PaymentFixture } from './fixture.ts'
import { paymentFixture } from './fixture.ts'

describe("customers' data at the provider", () => {
  let db: Db
  let fixture: PaymentFixture
  let account: TestAccount
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
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

  const due = (): Promise<string[]> => dueForgetting(db, 'stripe', 10)
  /** What a worker does once it is due, however long that takes. */
  async function forget(customer: string): Promise<void> {
    await db('customers_to_forget').update({ next_try_at: db.fn.now() })
    await forgetCustomer(fixture.deps, customer)
  }
  const cardsOf = async (customer: string): Promise<number> =>
    (await fixture.stripe.stripe.paymentMethods.list({ customer })).data.length
  const remove = (force: boolean): Promise<Obstacle | null> => {
    const { userId, id: accountId } = account
    return deleteAccount(db, null, { userId, accountId, giveUpCredits: true, evenPaying: force, passwordHash: 'none' })
  }

  it('is deleted for removed cards, even if the provider is unreachable at first', async () => {
    const { customer } = await fixture.buy(account.id, undefined, true)
    await dropCard(db, 'stripe', account.id)
    expect((await billingOf(db, account.id, false)).card).to.equal(null)
    expect(await due()).to.deep.equal([customer])
    await fixture.stripe.fault('*', '503')
    await forget(customer!)
    expect([await cardsOf(customer!), await due()]).to.deep.equal([1, []])
    await forget(customer!)
    expect(await cardsOf(customer!)).to.equal(0)
    expect(await db('customers_to_forget')).to.deep.equal([])
    expect((await fixture.order(account.id)).customer, 'they can buy again').to.equal(customer)
  })

  it('is deleted with an account, once its payments are decided; the payments stay', async () => {
    const paid = await fixture.buy(account.id, undefined, true)
    const customer = paid.customer!
    const autoTopUp = { threshold: 10, pack: 'starter', monthlyCapMinor: 5000 }
    await changeSettings(db, account.id, { lowBalance: { threshold: 10 }, autoTopUp }, false)
    const open = await fixture.order(account.id)
    expect(await remove(false)).to.deep.equal({ is: 'paying', payments: 1 })
    expect(await remove(true)).to.equal(null)
    expect(await db('billing_settings').where({ account_id: account.id })).to.deep.equal([])
    expect((await billingOf(db, account.id, false)).settings).to.deep.equal({ lowBalance: null, autoTopUp: null })
    await forget(customer)
    expect(await cardsOf(customer), 'while it may still be paid').to.equal(1)
    await fixture.stripe.stripe.checkout.sessions.expire(open.session!)
    await processDueOrder(fixture.deps, open.id)
    await forget(customer)
    expect(await fixture.stripe.stripe.customers.retrieve(customer)).to.include({ deleted: true })
    expect(await db('customers_to_forget')).to.deep.equal([])
    expect(await findPayment(db, paid.id)).to.include({ status: 'paid', account_id: account.id })
    // A dispute or a refund is still found.
    await fixture.stripe.stripe.refunds.create({ payment_intent: paid.intent! })
    await processDueOrder(fixture.deps, paid.id)
    expect(await balanceOf(db, account.id)).to.equal(0)
  })

  it('grants nothing to a deleted account: a late payment goes to review', async () => {
    const order = await fixture.order(account.id)
    expect(await remove(true)).to.equal(null)
    await fixture.stripe.pay(order.session!)
    await processDueOrder(fixture.deps, order.id)
    expect(await findPayment(db, order.id)).to.include({ status: 'review', review_reason: 'account_deleted' })
    expect(await balanceOf(db, account.id)).to.equal(0)
  })
})
