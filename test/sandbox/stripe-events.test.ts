import { expect } from 'chai'
import Stripe from 'stripe'
import { stripeAccountAt } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../scripts/harness/until.ts'
import { useSandbox } from './support/client.ts'
import { startHook } from './support/hook.ts'
import type { Hooked } from './support/hook.ts'

const SECRET = 'whsec_sandbox_test'

describe('the events of the sandbox as Stripe', () => {
  const own = useSandbox()
  let account: StripeAccount
  let hook: Awaited<ReturnType<typeof startHook>>
  beforeEach(async () => {
    account = stripeAccountAt(own.url)
    hook = await startHook()
    await account.deliverTo(hook.url, SECRET, { retryMs: [20, 20] })
  })
  afterEach(() => hook.close())

  function verified({ headers, payload }: Hooked): Stripe.Event {
    return account.stripe.webhooks.constructEvent(payload, headers['stripe-signature']!, SECRET)
  }

  function typesReceived(): string[] {
    return hook.received.map(({ payload }) => (JSON.parse(payload) as Stripe.Event).type)
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

  it('are sent again until they are accepted, each time with a new signature', async () => {
    hook.answers.push(500, 302)
    await customerEvent()
    await until('the third try', () => hook.received.length === 3)
    expect(new Set(hook.received.map((one) => verified(one).id)).size).to.equal(1)
    const tries = await until('three tries on record', async () => {
      const { data } = await account.control('GET', 'deliveries')
      return data.length === 3 && (data as { status: number }[])
    })
    expect(tries.map(({ status }) => status)).to.deep.equal([500, 302, 200])
  })

  it('are lost, sent twice, or sent after the next one when a fault says so', async () => {
    await account.fault('customer.created', 'lost')
    await account.fault('customer.created', 'doubled')
    await customerEvent()
    await customerEvent()
    await until('one event, twice', () => hook.received.length === 2)
    expect(verified(hook.received[0]!).id).to.equal(verified(hook.received[1]!).id)
    await account.fault('customer.created', 'after-next')
    const { id } = await customerEvent()
    await account.stripe.customers.del(id)
    await until('both events', () => hook.received.length === 4)
    expect(typesReceived().slice(2)).to.deep.equal(['customer.deleted', 'customer.created'])
    expect((await account.stripe.events.list()).data).to.have.length(4)
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

  it('have the content that a control gives them', async () => {
    const { id } = await customerEvent()
    await account.control('POST', 'events', { type: 'customer.updated', object: id, set: { livemode: true } })
    await until('both events', () => hook.received.length === 2)
    const forged = hook.received.map(verified).find(({ type }) => type === 'customer.updated')!
    expect(forged.data.object).to.include({ id, livemode: true })
    expect((await account.stripe.customers.retrieve(id)).lastResponse.statusCode).to.equal(200)
  })
})
