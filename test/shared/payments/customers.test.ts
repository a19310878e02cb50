import { expect } from 'chai'
import type { Obstacle } from '../../../src/shared/operators/changes.ts'
import { deleteAccount } from '../../../src/shared/operators/changes.ts'
import { dueForgetting, forgetCustomer, undecidedPayments } from '../../../src/shared/payments/forgetting.ts'
import { findPayment, placeOrder } from '../../../src/shared/payments/orders.ts'
import { dropCard } from '../../../src/shared/payments/customers.ts'
import { billingOf, changeSettings } from '../../../src/shared/payments/settings.ts'
import { processDueOrder } from '../../../src/shared/payments/due-orders.ts'
import { anAccount, balanceOf, proveAddress } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { usePayments, PACK, stripeAt, anOrder } from './fixture.ts'
import type { ApiError } from '../../../src/shared/platform/errors.ts'
import { cancelOrder, cancelUnpaid } from '../../../src/shared/payments/cancel.ts'
import { checkOrder } from '../../../src/shared/payments/check.ts'
import { startCheckout } from '../../../src/shared/payments/checkout.ts'
import type { PaymentDeps } from '../../../src/shared/payments/deps.ts'
import { providerOf } from '../../../src/shared/payments/deps.ts'
import { useBooks } from '../../support/database.ts'

describe('customers, cards and unpaid orders', () => {
  const db = useBooks({ isOwn: true })
  const fixture = usePayments(db)
  let account: TestAccount
  beforeEach(async () => {
    account = await anAccount(db)
    await proveAddress(db, account)
  })

  describe("customers' data at the provider", () => {
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
      return deleteAccount(db, null, {
        userId,
        accountId,
        giveUpCredits: true,
        evenPaying: force,
        passwordHash: 'none',
      })
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

  describe('the customer and card of an account', () => {
    const live = (): PaymentDeps => ({
      ...fixture.deps,
      provider: providerOf(stripeAt(fixture.sandbox.url, fixture.stripe.liveKey))!,
    })
    const mailsOf = ({ email }: TestAccount) =>
      db('mails').where({ recipient: email }).whereLike('kind', 'top_up%').pluck<string[]>('kind')
    const topUpOn = () =>
      changeSettings(db, account.id, { autoTopUp: { threshold: 10, pack: 'starter', monthlyCapMinor: 5000 } }, false)

    it('belong to a mode: a purchase in the other has a customer of its own, and the card is not shown', async () => {
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

    it('are no reason to say that the provider is away, nor is any other refusal', async () => {
      await fixture.buy(account.id)
      const refusalOf = async (terms: typeof PACK) =>
        startCheckout(fixture.deps, account.id, terms).catch((error: unknown) => error as ApiError)
      expect(await refusalOf({ ...PACK, amount_minor: 10 })).to.include({ code: 'invalid_amount' })
      const refused = await refusalOf({ ...PACK, currency: 'zzz' })
      expect(refused).to.include({ code: 'payments_unavailable' })
      expect((refused as ApiError).message)
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
        .update({
          expires_at: db.raw("now() - interval '25 hours'"),
          created_at: db.raw("now() - interval '49 hours'"),
        })
      await processDueOrder(live(), open.id)
      await processDueOrder(live(), created.id)
      expect(await findPayment(db, open.id)).to.include({ status: 'expired', next_check_at: null })
      expect(await findPayment(db, created.id)).to.include({ status: 'expired' })
    })
  })

  describe('an order that nobody has paid', () => {
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
})
