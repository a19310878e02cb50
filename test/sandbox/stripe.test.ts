import { expect } from 'chai'
import Stripe from 'stripe'
import { stripeAccountAt } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../scripts/harness/until.ts'
import { startReceiver } from '../support/webhooks.ts'
import type { Received, Receiver } from '../support/webhooks.ts'
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

describe('the sandbox as Stripe', () => {
  const own = useSandbox()
  let account: StripeAccount
  let stripe: Stripe
  beforeEach(() => {
    account = stripeAccountAt(own.url)
    stripe = account.stripe
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

  describe('its events', () => {
    let hook: Receiver
    beforeEach(async () => {
      hook = await startReceiver((response) => response.end())
      await account.deliverTo(hook.url, SECRET)
    })
    afterEach(() => hook.stop())

    function verified({ headers, body }: Pick<Received, 'headers' | 'body'>): Stripe.Event {
      return account.stripe.webhooks.constructEvent(body, headers['stripe-signature']!, SECRET)
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
      const forged = { ...hooked!, body: hooked!.body.replace('a@example', 'b@example') }
      expect(() => verified(forged)).to.throw(Stripe.errors.StripeSignatureVerificationError)
      const encodedAnew = { ...hooked!, body: JSON.stringify(JSON.parse(hooked!.body)) }
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
