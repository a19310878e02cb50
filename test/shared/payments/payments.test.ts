import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { AccountId, PaymentId } from '../../../src/shared/platform/ids.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { putToReview, applyState } from '../../../src/shared/payments/apply.ts'
import { resolveReview } from '../../../src/shared/payments/ending.ts'
import { checkOrder } from '../../../src/shared/payments/check.ts'
import { findPayment, orderOf, searchPayments } from '../../../src/shared/payments/orders.ts'
import { refundsOf } from '../../../src/shared/payments/refund-rows.ts'
import { refundableOf } from '../../../src/shared/payments/decide.ts'
import { remainingOfPayment } from '../../../src/shared/ledger/ledger.ts'
import { refundPayment } from '../../../src/shared/payments/refunds.ts'
import { processDueOrder } from '../../../src/shared/payments/due-orders.ts'
import { anAccount, balanceOf, debtOf, proveAddress } from '../../../scripts/harness/factories.ts'
import { opened, verbs } from '../calls/opening.ts'
import { PACK, usePayments } from './fixture.ts'
import { useBooks } from '../../support/database.ts'

describe('payments at Stripe', () => {
  const db = useBooks({ isOwn: true })
  const fixture = usePayments(db)

  describe('payments', () => {
    const movements = async (id: string) => {
      const rows = await db('ledger_entries')
        .where({ account_id: id })
        .orderBy('seq')
        .select<{ kind: string; amount: number; balance_after: number }[]>('kind', 'amount', 'balance_after')
      return rows.map((row) => `${row.kind} ${row.amount} = ${row.balance_after}`)
    }

    it('are granted once they are paid, the bonus as a grant of its own, and a receipt is mailed', async () => {
      const account = await anAccount(db)
      await proveAddress(db, account)
      const row = await fixture.order(account.id)
      expect(row).to.include({ status: 'open', credits: 1000, bonus: 50, amount_minor: 1000 })
      expect((await checkOrder(fixture.deps, row.id))!.status).to.equal('open')
      await fixture.stripe.pay(row.session!)
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'paid', reversed: 0 })
      expect(await movements(account.id)).to.deep.equal(['grant 1000 = 1000', 'grant 50 = 1050'])
      const mail = await db('mails').where({ recipient: account.email }).first<{ kind: string; details: object }>()
      expect(mail.kind).to.equal('receipt')
      expect(mail.details).to.include({ credits: 1050, amountMinor: 1000, currency: 'eur' })
    })

    it('are listed in pages, newest or oldest first', async () => {
      const { id: accountId } = await anAccount(db)
      const ids: string[] = []
      for (let nth = 0; nth < 3; nth++) ids.push((await fixture.order(accountId)).id)
      for (const [sort, order] of [
        ['newest', ids.toReversed()],
        ['oldest', ids],
      ] as const) {
        const { rows, next } = await searchPayments(db, { search: '', accountId, sort }, 2, null)
        const rest = await searchPayments(db, { search: '', accountId, sort }, 2, next as PaymentId)
        expect([...rows, ...rest.rows].map(({ id }) => id)).to.deep.equal(order)
      }
    })

    it('are granted once, however many check at the same time', async () => {
      const account = await anAccount(db)
      const row = await fixture.order(account.id)
      await fixture.stripe.pay(row.session!)
      const looks = await Promise.all(Array.from({ length: 50 }, () => checkOrder(fixture.deps, row.id)))
      expect(new Set(looks.map((one) => one!.status))).to.deep.equal(new Set(['paid']))
      expect(await balanceOf(db, account.id)).to.equal(1050)
    })

    it('that are refunded in part take their part, and in full the bonus, too', async () => {
      const account = await anAccount(db)
      const row = await fixture.buy(account.id)
      await fixture.stripe.stripe.refunds.create({ payment_intent: row.intent!, amount: 333 })
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'paid', reversed: 333, refunded_minor: 333 })
      expect(await balanceOf(db, account.id)).to.equal(717)
      await fixture.stripe.stripe.refunds.create({ payment_intent: row.intent!, amount: 667 })
      expect(await checkOrder(fixture.deps, row.id)).to.include({ reversed: 1050 })
      expect(await balanceOf(db, account.id)).to.equal(0)
    })

    it('that are refunded after they were spent leave a debt, which a running call that fails repays', async () => {
      const account = await anAccount(db)
      const row = await fixture.buy(account.id)
      const call = await opened(verbs(db), account, 1000)
      await fixture.stripe.stripe.refunds.create({ payment_intent: row.intent! })
      await checkOrder(fixture.deps, row.id)
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([0, 1000])
      await verbs(db).refund(call, gatewayError('upstream_failed'))
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([0, 0])
    })

    it('take from other purchases, newest first, before it becomes debt, and leave gifts to the debt', async () => {
      const account = await anAccount(db)
      const first = await fixture.buy(account.id)
      const other = await fixture.buy(account.id, { ...PACK, credits: 300, bonus: 0 })
      await opened(verbs(db), account, 1050)
      await fixture.stripe.stripe.refunds.create({ payment_intent: first.intent! })
      expect(await checkOrder(fixture.deps, first.id)).to.include({ reversed: 1050 })
      const moved = (await movements(account.id)).slice(-1)
      expect(moved).to.deep.equal(['reversal -300 = 0'])
      expect(await debtOf(db, account.id)).to.equal(750)
      expect(other.id).not.to.equal(first.id)
    })

    it('that are disputed move credits when the funds move, and give back exactly what was taken', async () => {
      const account = await anAccount(db)
      const row = await fixture.buy(account.id)
      await opened(verbs(db), account, 400)
      const { latest_charge: charge } = await fixture.stripe.stripe.paymentIntents.retrieve(row.intent!)
      const dispute = await fixture.stripe.control('POST', `charges/${charge as string}/dispute`)
      expect((await checkOrder(fixture.deps, row.id))!.reversed, 'opened alone').to.equal(0)
      await fixture.stripe.control('POST', `disputes/${dispute.id}`, { to: 'withdrawn' })
      expect((await checkOrder(fixture.deps, row.id))!.reversed).to.equal(1050)
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([0, 400])
      await fixture.stripe.control('POST', `disputes/${dispute.id}`, { to: 'reinstated' })
      await fixture.stripe.control('POST', `disputes/${dispute.id}`, { to: 'won' })
      expect((await checkOrder(fixture.deps, row.id))!.reversed).to.equal(0)
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([650, 0])
    })

    it('give back what a new purchase has repaid meanwhile', async () => {
      const account = await anAccount(db)
      const row = await fixture.buy(account.id)
      await opened(verbs(db), account, 400)
      await db.transaction(async (trx) => {
        await trx.raw('UPDATE payments SET disputed_minor = 1000 WHERE id = ?', [row.id])
        await trx.raw('SELECT reverse_payment(?, 1050)', [row.id])
      })
      const other = await fixture.buy(account.id)
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([650, 0])
      await db.raw('UPDATE payments SET version = version + 1 WHERE id = ?', [row.id])
      expect((await checkOrder(fixture.deps, row.id))!.reversed).to.equal(0)
      expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([1700, 0])
      expect(other.status).to.equal('paid')
    })

    const DIFFERENCES = {
      reference: { client_reference_id: 'pay_00000000000000000000000000000000' },
      live_mode: { livemode: true },
      currency: { currency: 'usd' },
      amount: { amount_total: 999 },
    }
    for (const [field, change] of Object.entries(DIFFERENCES)) {
      it(`go to review, and are not granted, if the ${field} differs from the order`, async () => {
        const account = await anAccount(db)
        const row = await fixture.order(account.id)
        await fixture.stripe.pay(row.session!)
        if (field === 'amount') {
          const { payment_intent: intent } = await fixture.stripe.stripe.checkout.sessions.retrieve(row.session!)
          await fixture.stripe.control('POST', `objects/${intent as string}`, { amount_received: 999 })
        }
        await fixture.stripe.control('POST', `objects/${row.session}`, change)
        expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'review', review_reason: field })
        expect(fixture.differences).to.include(field)
        expect(await balanceOf(db, account.id)).to.equal(0)
        await checkOrder(fixture.deps, row.id)
        expect(await balanceOf(db, account.id)).to.equal(0)
      })
    }

    /** A payment in review, since it was paid with another amount than was ordered. */
    const inReview = async (accountId: AccountId, paid: number) => {
      const row = await fixture.order(accountId)
      await fixture.stripe.pay(row.session!)
      const { payment_intent: intent } = await fixture.stripe.stripe.checkout.sessions.retrieve(row.session!)
      await fixture.stripe.control('POST', `objects/${intent as string}`, { amount_received: paid })
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'review', review_reason: 'amount' })
      return { id: row.id, intent: intent as string }
    }

    it('that an operator grants after a review have a receipt, and are taken back as any other', async () => {
      const account = await anAccount(db)
      await proveAddress(db, account)
      const { id, intent } = await inReview(account.id, 999)
      await resolveReview(db, null, id, 'grant')
      expect(await balanceOf(db, account.id)).to.equal(1050)
      expect(await db('mails').where({ recipient: account.email }).pluck('kind')).to.deep.equal(['receipt'])
      const row = (await findPayment(db, id))!
      expect(row.next_check_at!.getTime(), 'looked at next').to.be.at.most(Date.now() + 1000)
      await processDueOrder(fixture.deps, id)
      const looked = (await findPayment(db, id))!
      expect(looked).to.include({ status: 'paid', intent, reversed: 0 })
      expect(looked.receipt_url).to.be.a('string')
      await refundPayment(fixture.deps, null, id, { amountMinor: 500 })
      expect(await checkOrder(fixture.deps, id)).to.include({ status: 'paid', refunded_minor: 500, reversed: 500 })
      await fixture.stripe.stripe.refunds.create({ payment_intent: intent, amount: 499 })
      const expected = { refunded_minor: 1000, reversed: 1050 }
      expect(await checkOrder(fixture.deps, id), 'all that was paid').to.include(expected)
      expect(await balanceOf(db, account.id)).to.equal(0)
    })

    it('that an operator dismisses after a review stay dismissed, whoever looks', async () => {
      const account = await anAccount(db)
      const { id, intent } = await inReview(account.id, 999)
      await resolveReview(db, null, id, 'dismiss')
      const dismissed = { status: 'failed', failure: 'dismissed', review_reason: null }
      expect(await checkOrder(fixture.deps, id)).to.include(dismissed)
      expect(await putToReview(db, id, 'amount')).to.equal(false)
      await fixture.stripe.stripe.refunds.create({ payment_intent: intent })
      expect(await checkOrder(fixture.deps, id)).to.include(dismissed)
      expect(await balanceOf(db, account.id)).to.equal(0)
    })

    it('that an operator dismisses before they are paid are granted if the order itself is paid later', async () => {
      const account = await anAccount(db)
      const row = await fixture.order(account.id)
      await putToReview(db, row.id, 'session')
      await resolveReview(db, null, row.id, 'dismiss')
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'failed', failure: 'dismissed' })
      await fixture.stripe.pay(row.session!)
      expect(await checkOrder(fixture.deps, row.id)).to.include({ status: 'paid', failure: null })
      expect(await balanceOf(db, account.id)).to.equal(1050)
    })

    it('wait while the provider is unreachable, and are opened with the same id', async () => {
      const account = await anAccount(db)
      await fixture.stripe.fault('POST /v1/checkout/sessions', '500-after')
      const refused = await fixture.order(account.id).catch((error: { code: string }) => error.code)
      expect(refused).to.equal('payments_unavailable')
      const row = await db('payments').where({ account_id: account.id }).first<{ id: never; status: string }>()
      expect(row.status).to.equal('created')
      await processDueOrder(fixture.deps, row.id)
      const now = (await findPayment(db, row.id))!
      expect(now.status).to.equal('open')
      const listed = await fixture.stripe.stripe.checkout.sessions.list({ customer: now.customer! })
      expect(listed.data.map((one) => one.client_reference_id)).to.deep.equal([publicId('payment', row.id)])
    })

    describe('that an operator refunds', () => {
      it('lose their credits first, and are refunded once', async () => {
        const account = await anAccount(db)
        const row = await fixture.buy(account.id)
        const { row: after, refund } = await refundPayment(fixture.deps, null, row.id, { amountMinor: 500 })
        expect(after).to.include({ refunded_minor: 500, reversed: 500 })
        expect(refund.status).to.equal('taken')
        expect(await checkOrder(fixture.deps, row.id)).to.include({ refunded_minor: 500, reversed: 500 })
        expect(await balanceOf(db, account.id)).to.equal(550)
      })

      it('are refused with the number of spent credits, unless forced', async () => {
        const account = await anAccount(db)
        const row = await fixture.buy(account.id)
        await opened(verbs(db), account, 300)
        const refused = await refundPayment(fixture.deps, null, row.id, {}).catch((error: Error) => error)
        expect(refused).to.include({ code: 'credits_spent', message: '300 of these credits are already spent.' })
        // Up to what its unspent credits cost it is refunded without that.
        const most = refundableOf(row, await remainingOfPayment(db, row.id))
        const beyond = refundPayment(fixture.deps, null, row.id, { amountMinor: most + 1 })
        expect(await beyond.catch((error: { code: string }) => error.code)).to.equal('credits_spent')
        await refundPayment(fixture.deps, null, row.id, { amountMinor: most })
        expect(await debtOf(db, account.id)).to.equal(0)
        await refundPayment(fixture.deps, null, row.id, { force: true })
        expect([await balanceOf(db, account.id), await debtOf(db, account.id)]).to.deep.equal([0, 300])
      })

      it('get their credits back if the provider refuses for good', async () => {
        const account = await anAccount(db)
        const row = await fixture.buy(account.id)
        // Refunded elsewhere meanwhile: the provider has nothing left to give back.
        await fixture.stripe.stripe.refunds.create({ payment_intent: row.intent!, amount: 800 })
        const refused = await refundPayment(fixture.deps, null, row.id, {}).catch(
          (error: { code: string }) => error.code,
        )
        expect(refused).to.equal('invalid_request')
        expect(await checkOrder(fixture.deps, row.id)).to.include({ refunded_minor: 800, reversed: 800 })
        expect(await balanceOf(db, account.id)).to.equal(250)
      })

      it('are requested again if the provider did not answer', async () => {
        const account = await anAccount(db)
        const row = await fixture.buy(account.id)
        await fixture.stripe.fault('POST /v1/refunds', '500-after')
        const { refund } = await refundPayment(fixture.deps, null, row.id, {})
        expect(refund.status).to.equal('asked')
        expect(await balanceOf(db, account.id)).to.equal(0)
        await processDueOrder(fixture.deps, row.id)
        expect(await checkOrder(fixture.deps, row.id)).to.include({ refunded_minor: 1000, reversed: 1050 })
        const { data } = await fixture.stripe.stripe.refunds.list({ payment_intent: row.intent! })
        expect(data).to.have.lengthOf(1)
      })

      it('are taken once the provider lists them, though it never answers for them', async () => {
        const account = await anAccount(db)
        const row = await fixture.buy(account.id)
        await fixture.stripe.fault('POST /v1/refunds', '500-kept')
        await refundPayment(fixture.deps, null, row.id, {})
        await checkOrder(fixture.deps, row.id)
        const [refund] = await refundsOf(db, row.id)
        expect(refund!.status).to.equal('taken')
        expect(await balanceOf(db, account.id)).to.equal(0)
      })
    })
  })

  describe("a provider's state", () => {
    it('that changes nothing is recorded without the lock of the account, and counts as a check', async () => {
      const account = await anAccount(db)
      const { id, checks } = await fixture.buy(account.id)
      await db.transaction(async (trx) => {
        await trx('accounts').where({ id: account.id }).forUpdate().select('id')
        expect(await checkOrder(fixture.deps, id)).to.include({ status: 'paid', checks: checks + 1 })
      })
      expect(await checkOrder(fixture.deps, id)).to.include({ status: 'paid', checks: checks + 2 })
    })

    it('is stale once somebody else has applied a newer one', async () => {
      const account = await anAccount(db)
      const row = await fixture.order(account.id)
      const open = await fixture.deps.provider.read(orderOf(row))
      await fixture.stripe.pay(row.session!)
      await checkOrder(fixture.deps, row.id)
      expect((await applyState(db, row, open!))!.row).to.include({ status: 'paid', version: row.version + 1 })
      expect(await balanceOf(db, account.id)).to.equal(1050)
    })

    it('without a refund is stale once another has listed it, and gives nothing back', async () => {
      const account = await anAccount(db)
      const { id, intent } = await fixture.buy(account.id)
      // The refund waits for its answer; the provider makes it after somebody has looked.
      await fixture.stripe.fault('POST /v1/refunds', '500-kept')
      await refundPayment(fixture.deps, null, id, { amountMinor: 500 })
      const row = (await findPayment(db, id))!
      const seen = (await fixture.deps.provider.read(orderOf(row)))!
      expect(seen.refunds, intent!).to.have.lengthOf(1)
      await checkOrder(fixture.deps, id)
      expect((await refundsOf(db, id)).map(({ status }) => status)).to.deep.equal(['taken'])
      expect(await applyState(db, row, { ...seen, refunds: [] })).to.equal(null)
      expect(await balanceOf(db, account.id)).to.equal(550)
    })
  })
})
