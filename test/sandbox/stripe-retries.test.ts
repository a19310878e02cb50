import { expect } from 'chai'
import Stripe from 'stripe'
import { stripeAccountAt } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { useSandbox } from './support/client.ts'
import { order, refusalOf } from './support/stripe.ts'

describe('the sandbox as Stripe, when requests are repeated', () => {
  const own = useSandbox()
  let account: StripeAccount
  let stripe: Stripe
  beforeEach(() => {
    account = stripeAccountAt(own.url)
    stripe = account.stripe
  })

  describe('idempotency keys', () => {
    it('repeat the same answer, and refuse another body', async () => {
      const key = { idempotencyKey: 'pay_1' }
      const first = await stripe.checkout.sessions.create(order(), key)
      const again = await stripe.checkout.sessions.create(order(), key)
      expect(again.id).to.equal(first.id)
      expect(again.lastResponse.headers['idempotent-replayed']).to.equal('true')
      const refusal = await refusalOf(stripe.checkout.sessions.create(order({ client_reference_id: 'other' }), key))
      expect(refusal).to.be.instanceOf(Stripe.errors.StripeIdempotencyError)
      expect(refusal.statusCode).to.equal(400)
      expect((await stripe.checkout.sessions.list()).data).to.have.length(1)
    })

    it('repeat a declined charge, and forget a request that was refused for its fields', async () => {
      const customer = (await stripe.customers.create()).id
      const method = await stripe.paymentMethods.attach('pm_card_chargeDeclined', { customer })
      const asked = {
        amount: 500,
        currency: 'eur',
        customer,
        payment_method: method.id,
        off_session: true,
        confirm: true,
      }
      const key = { idempotencyKey: 'one' }
      const first = await refusalOf(stripe.paymentIntents.create(asked, key))
      const again = await refusalOf(stripe.paymentIntents.create(asked, key))
      expect(again.payment_intent!.id).to.equal(first.payment_intent!.id)
      const free = { idempotencyKey: 'two' }
      expect((await refusalOf(stripe.paymentIntents.create({ ...asked, amount: 1 }, free))).statusCode).to.equal(400)
      expect((await refusalOf(stripe.paymentIntents.create(asked, free))).statusCode).to.equal(402)
    })

    it('repeat what was created when its answer was lost, or the 500 if that was kept', async () => {
      const create = (idempotencyKey: string): Promise<Stripe.Checkout.Session> =>
        stripe.checkout.sessions.create(order(), { idempotencyKey })
      const count = async (): Promise<number> => (await stripe.checkout.sessions.list({ limit: 100 })).data.length
      await account.fault('POST /v1/checkout/sessions', '500-after')
      expect((await refusalOf(create('a'))).statusCode).to.equal(500)
      expect(await count()).to.equal(1)
      await create('a')
      expect(await count()).to.equal(1)
      await account.fault('POST /v1/checkout/sessions', '500-kept')
      expect((await refusalOf(create('b'))).statusCode).to.equal(500)
      expect((await refusalOf(create('b'))).statusCode).to.equal(500)
      expect(await count()).to.equal(2)
      await account.fault('POST /v1/checkout/sessions', '503')
      expect((await refusalOf(create('c'))).statusCode).to.equal(503)
      expect(await count()).to.equal(2)
    })
  })

  it('times out and cuts connections, before and after the work', async () => {
    // Long enough for the request to arrive.
    const timeout = 1000
    await account.fault('GET /v1/customers/:id', 'hang')
    expect(await refusalOf(stripe.customers.retrieve('cus_1', undefined, { timeout }))).to.be.instanceOf(
      Stripe.errors.StripeConnectionError,
    )
    await account.fault('POST /v1/customers', 'hang-after')
    await refusalOf(stripe.customers.create({}, { timeout, idempotencyKey: 'slow' }))
    await account.fault('POST /v1/customers', 'reset-after', 2)
    await refusalOf(stripe.customers.create({}, { idempotencyKey: 'cut' }))
    expect((await stripe.customers.list()).data).to.have.length(2)
  })
})
