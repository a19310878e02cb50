import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import Stripe from 'stripe'
import { stripeAccountAt, stripeClient } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { until } from '../../scripts/harness/until.ts'
import { useSandbox } from './support/client.ts'
import type { Fields } from './support/client.ts'

const SECRET = 'whsec_sandbox_test'

/** Where the shop of the tests wants its customers back. */
const RETURN = 'http://127.0.0.1:1/credits?payment=pay_1&session={CHECKOUT_SESSION_ID}'

/** An order for ten euros of credits. */
function order(more: Partial<Stripe.Checkout.SessionCreateParams> = {}): Stripe.Checkout.SessionCreateParams {
  return {
    mode: 'payment',
    success_url: RETURN,
    cancel_url: 'http://127.0.0.1:1/credits',
    client_reference_id: 'pay_1',
    metadata: { payment: 'pay_1' },
    line_items: [
      { quantity: 1, price_data: { currency: 'eur', unit_amount: 1000, product_data: { name: '10,000 credits' } } },
    ],
    payment_intent_data: { metadata: { payment: 'pay_1' } },
    ...more,
  }
}

/** What Stripe's client says of a call that is refused; throws for one that is not. */
async function refusalOf(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(failure instanceof Stripe.errors.StripeError)) throw new Error(`not refused by Stripe: ${String(failure)}`)
  return failure
}

type Hooked = { headers: IncomingHttpHeaders; payload: string }

/** An endpoint for events, which accepts each. */
async function startHook() {
  const received: Hooked[] = []
  const server = createServer((req, res) => {
    void buffer(req).then((bytes) => {
      received.push({ headers: req.headers, payload: bytes.toString('utf8') })
      res.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hooks`, received, close: () => void server.close() }
}

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
  })

  describe('refunds and disputes', () => {
    it('refunds in parts up to the whole, and no more', async () => {
      const { id } = await stripe.checkout.sessions.create(order())
      await account.pay(id, 'card')
      const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] })
      const charge = (session.payment_intent as Stripe.PaymentIntent).latest_charge as Stripe.Charge
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

  it('repeats the same answer to an idempotency key, and refuses another body', async () => {
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

  describe('its events', () => {
    let hook: Awaited<ReturnType<typeof startHook>>
    beforeEach(async () => {
      hook = await startHook()
      await account.deliverTo(hook.url, SECRET)
    })
    afterEach(() => hook.close())

    function verified({ headers, payload }: Hooked): Stripe.Event {
      return account.stripe.webhooks.constructEvent(payload, headers['stripe-signature']!, SECRET)
    }

    function customerEvent(): Promise<Stripe.Customer> {
      return account.stripe.customers.create({ email: 'a@example.com' })
    }

    it('are signed so that the official client accepts them, unless a byte was changed', async () => {
      const { id } = await customerEvent()
      const [hooked] = await until('the event', () => hook.received.length > 0 && hook.received)
      const event = verified(hooked!)
      expect(event).to.include({ object: 'event', type: 'customer.created', livemode: false })
      expect((event.data.object as Stripe.Customer).id).to.equal(id)
      expect(await account.stripe.events.retrieve(event.id)).to.include({ id: event.id, type: event.type })
      const forged = { ...hooked!, payload: hooked!.payload.replace('a@example', 'b@example') }
      expect(() => verified(forged)).to.throw(Stripe.errors.StripeSignatureVerificationError)
      const encodedAnew = { ...hooked!, payload: JSON.stringify(JSON.parse(hooked!.payload)) }
      expect(() => verified(encodedAnew)).to.throw(Stripe.errors.StripeSignatureVerificationError)
    })

    it('are kept back and delivered by hand: late, twice, with a stale signature or a foreign secret', async () => {
      await account.deliverTo(hook.url, SECRET, { hold: true })
      await account.fault('customer.created', 'day-late')
      const begun = Math.floor(Date.now() / 1000)
      await customerEvent()
      const { data } = await account.stripe.events.list({ type: 'customer.created' })
      const { id, created } = data[0]!
      expect(created + 86_400).to.be.within(begun, Date.now() / 1000)
      expect(hook.received).to.be.empty
      expect(await account.control('POST', `events/${id}/deliver`)).to.deep.equal({ status: 200 })
      await account.control('POST', `events/${id}/deliver`, { secondsAgo: 301 })
      await account.control('POST', `events/${id}/deliver`, { secret: 'whsec_other' })
      expect(verified(hook.received[0]!).id).to.equal(id)
      expect(() => verified(hook.received[1]!)).to.throw('Timestamp outside the tolerance zone')
      expect(() => verified(hook.received[2]!)).to.throw('No signatures found matching')
    })
  })
})
