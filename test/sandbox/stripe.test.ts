import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import Stripe from 'stripe'
import { stripeAccountAt, stripeClient } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { send, useSandbox } from './support/client.ts'
import type { Fields } from './support/client.ts'
import { order, refusalOf, RETURN } from './support/stripe.ts'

/** Runs a sandbox of its own until the work is done. */
async function withSandbox<T>(options: { stripeFile: string }, work: (client: Stripe) => Promise<T>): Promise<T> {
  const sandbox = await createSandbox(options)
  try {
    return await work(stripeClient(sandbox.url, 'sk_test_kept'))
  } finally {
    await sandbox.close()
  }
}

describe('the sandbox as Stripe', () => {
  const own = useSandbox()
  let account: StripeAccount
  let stripe: Stripe
  beforeEach(() => {
    account = stripeAccountAt(own.url)
    stripe = account.stripe
  })

  async function paidOrder(way = 'card'): Promise<{ session: Stripe.Checkout.Session; charge: Stripe.Charge }> {
    const { id } = await stripe.checkout.sessions.create(order())
    await account.pay(id, way)
    const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] })
    return { session, charge: (session.payment_intent as Stripe.PaymentIntent).latest_charge as Stripe.Charge }
  }

  async function typesOf(object?: string): Promise<string[]> {
    const { data } = await stripe.events.list({ limit: 100 })
    return data
      .filter((one) => !object || (one.data.object as unknown as { id: string }).id === object)
      .map(({ type }) => type)
      .toReversed()
  }

  it('works a control in process as its request does, and refuses what is not there', async () => {
    const { id } = await stripe.checkout.sessions.create(order())
    own.sandbox.stripeControl(account.key, 'POST /stripe/control/sessions/:id/pay', { id, fields: { way: 'card' } })
    expect((await stripe.checkout.sessions.retrieve(id)).payment_status).to.equal('paid')
    const refused = () => own.sandbox.stripeControl(account.key, 'POST /stripe/control/refunds/:id', { id: 're_none' })
    expect(refused).to.throw('No such refund')
  })

  describe('checkout', () => {
    it('makes a session that is open and unpaid, with what it was asked for', async () => {
      const customer = await stripe.customers.create({ email: 'a@example.com', metadata: { account: 'acc_1' } })
      const expires = Math.floor(Date.now() / 1000) + 3600
      const made = await stripe.checkout.sessions.create(
        order({ customer: customer.id, expires_at: expires, expand: ['line_items', 'customer'] }),
      )
      expect(made).to.deep.include({
        object: 'checkout.session',
        status: 'open',
        payment_status: 'unpaid',
        amount_total: 1000,
        currency: 'eur',
        client_reference_id: 'pay_1',
        metadata: { payment: 'pay_1' },
        payment_intent: null,
        livemode: false,
        expires_at: expires,
      })
      expect((made.customer as Stripe.Customer).email).to.equal('a@example.com')
      expect(made.line_items!.data[0]).to.include({ description: '10,000 credits', amount_total: 1000 })
      expect(await stripe.checkout.sessions.retrieve(made.id)).to.include({ customer: customer.id, url: made.url })
    })

    it('refuses what Stripe refuses, with its codes and the field', async () => {
      const cases: [Fields, Fields][] = [
        [{ line_items: undefined }, { param: 'line_items', code: 'parameter_missing' }],
        [{ success_url: '/credits' }, { param: 'success_url', code: 'url_invalid' }],
        [{ customer: 'cus_nobody' }, { param: 'customer', code: 'resource_missing' }],
        [{ expires_at: 1 }, { param: 'expires_at' }],
        [{ colour: 'red' }, { param: 'colour', code: 'parameter_unknown' }],
        [{ metadata: { long: 'x'.repeat(501) } }, { param: 'metadata[long]' }],
        [
          {
            line_items: [
              { quantity: 1, price_data: { currency: 'eur', unit_amount: 49, product_data: { name: 'x' } } },
            ],
          },
          { code: 'amount_too_small' },
        ],
      ]
      for (const [change, expected] of cases) {
        const refusal = await refusalOf(stripe.checkout.sessions.create(order(change)))
        expect(refusal, JSON.stringify(change)).to.be.instanceOf(Stripe.errors.StripeInvalidRequestError)
        expect(refusal).to.include({ statusCode: 400, ...expected })
      }
      expect(await refusalOf(stripe.checkout.sessions.retrieve('cs_test_none'))).to.include({
        statusCode: 404,
        code: 'resource_missing',
      })
    })

    it('is paid for by a click on its page, which leads back to the shop', async () => {
      const { id, url } = await stripe.checkout.sessions.create(order())
      const shownPage = await send(url!)
      expect(shownPage.text).to.include('Pay €10.00').and.to.include('10,000 credits')
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const back = await send(url!, { method: 'POST', body: 'way=card', headers: form })
      expect([back.status, back.headers['location']]).to.deep.equal([303, RETURN.replace('{CHECKOUT_SESSION_ID}', id)])
      const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] })
      expect(session).to.include({ status: 'complete', payment_status: 'paid' })
      const intent = session.payment_intent as Stripe.PaymentIntent
      expect(intent).to.deep.include({ status: 'succeeded', amount_received: 1000, metadata: { payment: 'pay_1' } })
      const receipt = await send((intent.latest_charge as Stripe.Charge).receipt_url!)
      expect(receipt.text).to.include('€10.00')
      expect((await send(url!)).text).to.include('This order was paid for.')
      expect(await typesOf()).to.deep.equal([
        'payment_intent.created',
        'charge.succeeded',
        'payment_intent.succeeded',
        'checkout.session.completed',
      ])
    })

    it('stays open when a card is declined or its bank asks, and takes another one then', async () => {
      const { id } = await stripe.checkout.sessions.create(order())
      expect(await account.pay(id, 'declined')).to.include({ outcome: 'declined', message: 'Your card was declined.' })
      expect(await account.pay(id, 'authentication')).to.include({ outcome: 'authenticate' })
      expect(await stripe.checkout.sessions.retrieve(id)).to.include({ status: 'open', payment_status: 'unpaid' })
      expect(await account.pay(id, 'authentication', { authenticated: true })).to.include({ outcome: 'done' })
      const session = await stripe.checkout.sessions.retrieve(id)
      expect(session.payment_status).to.equal('paid')
      const charges = await stripe.charges.list({ payment_intent: session.payment_intent as string })
      expect(charges.data.map(({ status }) => status)).to.deep.equal(['succeeded', 'failed'])
      expect(await typesOf(session.payment_intent as string)).to.include('payment_intent.payment_failed')
    })

    it('is complete and unpaid until a bank has answered a payment that comes later', async () => {
      for (const paid of [true, false]) {
        const { id } = await stripe.checkout.sessions.create(order())
        await account.pay(id, 'later')
        expect(await stripe.checkout.sessions.retrieve(id)).to.include({ status: 'complete', payment_status: 'unpaid' })
        await account.control('POST', `sessions/${id}/settle`, { paid })
        const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent'] })
        const status = paid ? 'succeeded' : 'requires_payment_method'
        expect(session.payment_status).to.equal(paid ? 'paid' : 'unpaid')
        expect((session.payment_intent as Stripe.PaymentIntent).status).to.equal(status)
        const last = paid ? 'async_payment_succeeded' : 'async_payment_failed'
        expect(await typesOf(id)).to.deep.equal(['checkout.session.completed', `checkout.session.${last}`])
      }
    })

    it('expires on request, and cannot be paid afterwards', async () => {
      const { id, url } = await stripe.checkout.sessions.create(order())
      expect(await stripe.checkout.sessions.expire(id)).to.include({ status: 'expired', url: null })
      expect((await send(url!)).text).to.include('This page has expired.')
      expect((await refusalOf(stripe.checkout.sessions.expire(id))).statusCode).to.equal(400)
      expect(await typesOf(id)).to.deep.equal(['checkout.session.expired'])
    })
  })

  describe('saved cards', () => {
    async function keptCard(way: string, keep = true): Promise<{ customer: string; methods: Stripe.PaymentMethod[] }> {
      const customer = (await stripe.customers.create({ email: 'a@example.com' })).id
      const { id } = await stripe.checkout.sessions.create(
        order({ customer, saved_payment_method_options: { payment_method_save: 'enabled' } }),
      )
      await account.pay(id, way, { keep })
      return { customer, methods: (await stripe.paymentMethods.list({ customer, type: 'card' })).data }
    }

    function charge(customer: string, method: string): Promise<Stripe.PaymentIntent> {
      return stripe.paymentIntents.create({
        amount: 2000,
        currency: 'eur',
        customer,
        payment_method: method,
        off_session: true,
        confirm: true,
        metadata: { payment: 'pay_2' },
        expand: ['latest_charge'],
      })
    }

    it('belong only to the customer who ticked the box', async () => {
      const { methods } = await keptCard('card')
      expect(methods[0]!.card).to.include({ brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2034 })
      expect(methods[0]!.allow_redisplay).to.equal('always')
      expect((await keptCard('card', false)).methods).to.be.empty
    })

    it('are charged off-session, until they are detached', async () => {
      const { customer, methods } = await keptCard('card')
      const intent = await charge(customer, methods[0]!.id)
      expect(intent).to.include({ status: 'succeeded', amount_received: 2000 })
      expect((intent.latest_charge as Stripe.Charge).receipt_url).to.match(/\/stripe\/receipts\/ch_/)
      await stripe.paymentMethods.detach(methods[0]!.id)
      expect((await refusalOf(charge(customer, methods[0]!.id))).param).to.equal('payment_method')
    })

    it('are declined off-session as Stripe says it: in the answer, with the payment intent', async () => {
      const cases = [
        ['later-declined', 'card_declined', 'generic_decline'],
        ['later-authentication', 'authentication_required', 'authentication_required'],
      ] as const
      for (const [way, code, decline] of cases) {
        const { customer, methods } = await keptCard(way)
        const refusal = await refusalOf(charge(customer, methods[0]!.id))
        expect(refusal).to.be.instanceOf(Stripe.errors.StripeCardError)
        expect(refusal).to.include({ statusCode: 402, code, decline_code: decline })
        const intent = refusal.payment_intent!
        expect(intent).to.include({ status: 'requires_payment_method' })
        expect(await stripe.paymentIntents.retrieve(intent.id)).to.deep.include({ metadata: { payment: 'pay_2' } })
      }
    })

    it('change their outcome when a control says so', async () => {
      const { customer, methods } = await keptCard('card')
      await account.control('POST', `cards/${methods[0]!.id}`, { card: 'no-funds' })
      expect((await refusalOf(charge(customer, methods[0]!.id))).decline_code).to.equal('insufficient_funds')
    })
  })

  describe('refunds and disputes', () => {
    it('refunds in parts up to the whole, and no more', async () => {
      const { session, charge } = await paidOrder()
      const intent = (session.payment_intent as Stripe.PaymentIntent).id
      expect(await stripe.refunds.create({ payment_intent: intent, amount: 300 })).to.include({ status: 'succeeded' })
      expect((await refusalOf(stripe.refunds.create({ charge: charge.id, amount: 701 }))).param).to.equal('amount')
      await stripe.refunds.create({ charge: charge.id })
      const now = await stripe.charges.retrieve(charge.id, { expand: ['refunds'] })
      expect(now).to.include({ amount_refunded: 1000, refunded: true })
      expect(now.refunds!.data.map(({ amount }) => amount)).to.deep.equal([700, 300])
      expect((await refusalOf(stripe.refunds.create({ charge: charge.id }))).code).to.equal('charge_already_refunded')
      expect(await typesOf(charge.id)).to.deep.equal(['charge.succeeded', 'charge.refunded', 'charge.refunded'])
    })

    it('reverses a refund that fails, at once or while it is pending', async () => {
      for (const way of ['refunds-pending', 'card']) {
        const { charge } = await paidOrder(way)
        const refund = await stripe.refunds.create({ charge: charge.id })
        expect(refund.status).to.equal(way === 'card' ? 'succeeded' : 'pending')
        await account.control('POST', `refunds/${refund.id}`, { status: 'failed' })
        expect((await stripe.refunds.retrieve(refund.id)).status).to.equal('failed')
        expect(await stripe.charges.retrieve(charge.id)).to.include({ amount_refunded: 0, refunded: false })
        expect(await typesOf(refund.id)).to.include('refund.failed')
      }
    })

    it('opens a dispute, moves its funds as a step of its own, and ends it', async () => {
      for (const end of ['won', 'lost'] as const) {
        const { charge } = await paidOrder()
        const { id } = await account.control('POST', `charges/${charge.id}/dispute`, { amount: 400 })
        expect((await stripe.disputes.retrieve(id as string)).balance_transactions).to.be.empty
        await account.control('POST', `disputes/${id}`, { to: 'withdrawn' })
        expect((await refusalOf(stripe.refunds.create({ charge: charge.id }))).code).to.equal('charge_disputed')
        await account.control('POST', `disputes/${id}`, { to: end })
        const { status, balance_transactions: moved } = await stripe.disputes.retrieve(id as string)
        expect(status).to.equal(end)
        expect(moved.map(({ amount }) => amount)).to.deep.equal(end === 'won' ? [-400, 400] : [-400])
        const names = ['created', 'funds_withdrawn', ...(end === 'won' ? ['funds_reinstated'] : []), 'closed']
        expect(await typesOf(id as string)).to.deep.equal(names.map((name) => `charge.dispute.${name}`))
        expect((await stripe.disputes.list({ charge: charge.id })).data).to.have.length(1)
      }
    })

    it('closes an inquiry without moving anything', async () => {
      const { charge } = await paidOrder()
      const { id } = await account.control('POST', `charges/${charge.id}/dispute`, { inquiry: true })
      await account.control('POST', `disputes/${id}`, { to: 'warning_closed' })
      const dispute = await stripe.disputes.retrieve(id as string)
      expect([dispute.status, dispute.balance_transactions]).to.deep.equal(['warning_closed', []])
    })
  })

  it('pages through lists, filtered by time', async () => {
    const made: string[] = []
    for (let at = 0; at < 5; at += 1) {
      const { id } = await stripe.customers.create()
      await account.control('POST', `objects/${id}`, { created: 1000 + at })
      made.unshift(id)
    }
    const seen: string[] = []
    for await (const { id } of stripe.customers.list({ limit: 2 })) seen.push(id)
    expect(seen).to.deep.equal(made)
    const some = await stripe.customers.list({ created: { gte: 1001, lt: 1003 } })
    expect(some.data.map(({ created }) => created)).to.deep.equal([1002, 1001])
    expect((await stripe.customers.list({ ending_before: made[2] })).data.map(({ id }) => id)).to.deep.equal(
      made.slice(0, 2),
    )
  })

  it('restores its accounts from a file after a restart', async () => {
    const stripeFile = join(mkdtempSync(join(tmpdir(), 'stripe-')), 'accounts.json')
    const { session, customer } = await withSandbox({ stripeFile }, async (client) => {
      const { id } = await client.customers.create({ email: 'a@example.com' })
      return { customer: id, session: (await client.checkout.sessions.create(order({ customer: id }))).id }
    })
    await withSandbox({ stripeFile }, async (client) => {
      expect(await client.customers.retrieve(customer)).to.include({ email: 'a@example.com' })
      const found = await client.checkout.sessions.retrieve(session, { expand: ['line_items'] })
      expect([found.status, found.line_items!.data.length]).to.deep.equal(['open', 1])
    })
  })

  it('keeps accounts and modes apart, by their keys', async () => {
    const { id } = await stripe.customers.create()
    const live = stripeClient(own.url, account.liveKey)
    expect((await live.customers.create()).livemode).to.equal(true)
    expect((await refusalOf(live.customers.retrieve(id))).code).to.equal('resource_missing')
    expect((await refusalOf(stripeAccountAt(own.url).stripe.customers.retrieve(id))).statusCode).to.equal(404)
    const unknown = await refusalOf(stripeClient(own.url, 'sk_wrong').customers.retrieve(id))
    expect(unknown).to.be.instanceOf(Stripe.errors.StripeAuthenticationError)
  })
})
