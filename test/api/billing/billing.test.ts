import { proveAddress } from '../../../scripts/harness/factories.ts'
import { expect } from 'chai'
import Stripe from 'stripe'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import { putToReview } from '../../../src/shared/payments/apply.ts'
import { forgive } from '../../../src/shared/payments/debts.ts'
import { createCode } from '../../../src/shared/payments/codes.ts'
import { resolveReview } from '../../../src/shared/payments/ending.ts'
import { IMAGES, imageBody } from '../../../scripts/harness/calling.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { StripeAccount } from '../../../scripts/harness/stripe-sandbox.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway } from '../../support/gateway.ts'
import { anAsker } from '../../support/console.ts'

const NAME = 'billing'
const SECRET = 'whsec_of_billing'

type Me = Awaited<ReturnType<typeof anAsker>>

describe('buying credits', () => {
  const gateway = useGateway({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: `sk_test_${NAME}`,
    STRIPE_WEBHOOK_SECRET: SECRET,
  })
  let stripe: StripeAccount
  before(async () => {
    stripe = stripeAccountAt(gateway.sandbox.url, NAME)
  })

  const signUp = () => anAsker(gateway)

  const credits = async (me: Me): Promise<number> => (await me.ask('GET', '/api/account')).json.credits

  async function checkout(me: Me, what: object = { pack: 'starter' }) {
    const { json } = await me.ask('POST', '/api/billing/checkout', what)
    const row = await gateway.db('payments').orderBy('id', 'desc').first<{ session: string }>('session')
    return { payment: json.payment, url: json.url as string, session: row.session }
  }

  const deliver = (payload: string, signature: string) =>
    send('POST', `${gateway.url}/hooks/stripe`, { body: payload, headers: { 'stripe-signature': signature } })

  const signed = (payload: string, more: { secret?: string; timestamp?: number } = {}): string =>
    Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, ...more })

  let events = 0
  const anEvent = (type: string, object: object, more: object = {}) =>
    JSON.stringify({ id: `evt_${++events}`, object: 'event', type, livemode: false, data: { object }, ...more })

  const statusOf = async (me: Me, { id }: { id: string }): Promise<string> =>
    (await me.ask('GET', `/api/billing/payments/${id}`)).json.payment.status

  /** Delivers the event of a checkout that was paid, and waits until it is decided. */
  async function paid(session: string, payment: { id: string }, words: object = {}, more?: object): Promise<void> {
    const of = { id: session, object: 'checkout.session', client_reference_id: payment.id, payment_status: 'paid' }
    const event = anEvent('checkout.session.completed', { ...of, ...words }, more)
    expect((await deliver(event, signed(event))).status).to.equal(200)
    const { outcome } = await until('the event is decided', () =>
      gateway
        .db('payment_events')
        .where({ id: `evt_${events}` })
        .whereNotNull('outcome')
        .first<{ outcome: string }>(),
    )
    expect(outcome).to.equal('checked')
  }

  it('is offered with packs and free amounts', async () => {
    const me = await signUp()
    expect((await me.ask('GET', '/api/billing')).json).to.deep.equal({
      ok: true,
      provider: 'stripe',
      packs: [{ id: 'starter', currency: 'eur', amountMinor: 1000, credits: 10_000, bonus: 500 }],
      topUp: { currency: 'eur', minMinor: 500, maxMinor: 100_000, creditsPer: 1000, perMinor: 100 },
      debt: 0,
      settings: { lowBalance: null, autoTopUp: null },
      card: null,
    })
  })

  it('opens a checkout page, and credits a payment once when the customer returns', async () => {
    const me = await signUp()
    const { payment, url, session } = await checkout(me)
    expect(payment).to.include({ status: 'open', kind: 'checkout', credits: 10_000, bonus: 500, amountMinor: 1000 })
    expect(url).to.match(/^http/)
    const stranger = await signUp()
    expect((await stranger.ask('POST', `/api/billing/payments/${payment.id}/cancel`)).status).to.equal(404)
    await stripe.pay(session)
    // Fifty at once: test/shared/payments/payments.test.ts.
    const looks = await Promise.all([1, 2, 3].map(() => me.ask('POST', `/api/billing/payments/${payment.id}/sync`)))
    expect(new Set(looks.map(({ json }) => json.payment.status))).to.deep.equal(new Set(['paid']))
    expect(await credits(me)).to.equal(10_500)
    const { json } = await me.ask('GET', `/api/billing/payments/${payment.id}`)
    expect(json.ledger.map(({ kind, amount }: { kind: string; amount: number }) => [kind, amount])).to.deep.equal([
      ['grant', 10_000],
      ['grant', 500],
    ])
    expect((await me.ask('GET', '/api/billing/payments')).json.data).to.have.lengthOf(1)
  })

  it('is credited by a webhook alone, once for ten deliveries of one event', async () => {
    const me = await signUp()
    const { payment, session } = await checkout(me, { amountMinor: 1234 })
    await stripe.pay(session)
    const event = anEvent('checkout.session.completed', {
      id: session,
      object: 'checkout.session',
      client_reference_id: payment.id,
      metadata: { payment: payment.id },
    })
    const replies = await Promise.all(Array.from({ length: 10 }, () => deliver(event, signed(event))))
    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]))
    await until('the credits are there', async () => (await credits(me)) > 0)
    expect(await credits(me)).to.equal(12_340)
  })

  it('is not decided by what an event says', async () => {
    const me = await signUp()
    const { payment, session } = await checkout(me)
    await paid(session, payment, { currency: 'eur', amount_total: 1000 })
    expect(await statusOf(me, payment)).to.equal('open')
    expect(await credits(me)).to.equal(0)
  })

  const LIES: [title: string, of: (other: string) => object, more?: object][] = [
    ["another account's checkout", (other) => ({ id: other })],
    ['test mode where it is live', () => ({}), { livemode: true }],
    ['another currency', () => ({ currency: 'usd', amount_total: 1000 })],
    ['another amount', () => ({ currency: 'eur', amount_total: 1 })],
  ]
  for (const [title, of, more] of LIES) {
    it(`puts an order into review, and credits nothing, for an event of ${title}`, async () => {
      const me = await signUp()
      const { payment, session } = await checkout(me)
      const { session: other } = await checkout(await signUp())
      const before = (await gateway.db('payments').where({ status: 'review' })).length
      await paid(session, payment, of(other), more)
      const touched = await gateway.db('payments').where({ status: 'review' }).whereNot({ session }).pluck('id')
      expect(await statusOf(me, payment)).to.equal('review')
      expect(touched, 'nobody else').to.have.lengthOf(before)
      expect(await credits(me)).to.equal(0)
    })
  }

  it('puts an expired order into review for an event of another checkout, unless it was dismissed', async () => {
    const me = await signUp()
    const { payment, session } = await checkout(me)
    const { session: other } = await checkout(await signUp())
    const tell = async () => {
      await paid(other, payment)
      return statusOf(me, payment)
    }
    await stripe.stripe.checkout.sessions.expire(session)
    await me.ask('POST', `/api/billing/payments/${payment.id}/sync`)
    expect(await statusOf(me, payment)).to.equal('expired')
    expect(await tell()).to.equal('review')
    await resolveReview(gateway.db, null, parseId('payment', payment.id as string)!, 'dismiss')
    expect(await tell()).to.equal('failed')
    expect(await credits(me)).to.equal(0)
  })

  it('refuses events that are forged, stale, cut or reformatted', async () => {
    const event = anEvent('checkout.session.completed', { id: 'cs_1', object: 'checkout.session' })
    const stale = Math.floor(Date.now() / 1000) - 301
    for (const [payload, signature] of [
      [event, ''],
      [event, 't=1,v1=00'],
      [event, signed(event, { secret: 'whsec_of_somebody' })],
      [event, signed(event, { timestamp: stale })],
      [event.slice(0, -1), signed(event)],
      [`${event}\n`, signed(event)],
      [JSON.stringify(JSON.parse(event), null, 1), signed(event)],
      ['', signed('')],
      ['null', signed('null')],
    ] as const) {
      const { status, json } = await deliver(payload, signature)
      expect([status, json.error], payload.slice(0, 20)).to.deep.equal([400, 'invalid_signature'])
    }
    expect(await gateway.db('payment_events').where({ id: `evt_${events}` })).to.deep.equal([])
  })

  it('takes no text of a signed event that cannot be stored', async () => {
    const named = anEvent('checkout.session.completed', { id: 'cs\0', object: 'checkout.session', currency: '\ud800' })
    expect((await deliver(named, signed(named))).status).to.equal(200)
    const nameless = JSON.stringify({ ...(JSON.parse(named) as object), id: 'evt_\0' })
    expect((await deliver(nameless, signed(nameless))).status).to.equal(400)
  })

  it('refuses what is not for sale', async () => {
    const me = await signUp()
    const refusal = async (body: object) => (await me.ask('POST', '/api/billing/checkout', body)).json.error
    expect(await refusal({ pack: 'nothing' })).to.equal('invalid_request')
    expect(await refusal({})).to.equal('invalid_request')
    expect(await refusal({ pack: 'starter', amountMinor: 500 })).to.equal('invalid_request')
    for (const amountMinor of [499, 100_001, 500.5, '500', -1, 0])
      expect(await refusal({ amountMinor }), String(amountMinor)).to.equal('invalid_amount')
  })

  it('tops up automatically, once per crossing of the threshold, from the card saved at a checkout', async () => {
    const me = await signUp()
    await proveAddress(gateway.db, me)
    const wanted = { threshold: 10_480, pack: 'starter', monthlyCapMinor: 1500 }
    expect((await me.ask('PUT', '/api/billing/settings', { autoTopUp: wanted })).json.error).to.equal('no_card')
    const { payment, session } = await checkout(me)
    await stripe.pay(session, 'card', { keep: true })
    await me.ask('POST', `/api/billing/payments/${payment.id}/sync`)
    const settings = { autoTopUp: wanted, lowBalance: { threshold: 10_500 } }
    expect((await me.ask('PUT', '/api/billing/settings', settings)).json.settings).to.deep.equal(settings)
    expect((await me.ask('GET', '/api/billing')).json.card).to.include({ last4: '4242' })
    const { secret } = (await me.ask('POST', '/api/keys', { name: 'test' })).json
    await send('POST', `${gateway.url}${IMAGES}`, { key: secret, body: imageBody('a fox') })
    await until('the top-up is paid', async () => (await credits(me)) === 10_500 - 40 + 10_500)
    const [auto] = (await me.ask('GET', '/api/billing/payments')).json.data
    expect(auto).to.include({ kind: 'auto', status: 'paid', amountMinor: 1000 })
    const mails = await gateway.db('mails').where({ recipient: me.email }).orderBy('id').pluck('kind')
    expect(mails.filter((kind) => kind === 'low_balance')).to.have.lengthOf(1)
    expect((await me.ask('DELETE', '/api/billing/card')).status).to.equal(200)
    expect((await me.ask('GET', '/api/billing')).json).to.deep.include({ card: null })
  })

  it('accepts ten attempts at codes an hour, and a code in any case and with any dashes', async () => {
    const me = await signUp()
    const terms = { credits: 7, maxUses: 1, expiresAt: null, creditsExpireAt: null, note: null }
    const { code } = await createCode(gateway.db, null, terms)
    const redeem = (text: string) => me.ask('POST', '/api/billing/redeem', { code: text })
    expect((await redeem(code.toLowerCase().replaceAll('-', ' '))).json).to.include({ credits: 7, balance: 7 })
    expect((await redeem(code)).json.error).to.equal('code_used')
    for (let tries = 2; tries < 10; tries++) expect((await redeem('nothing')).json.error).to.equal('invalid_code')
    expect((await redeem('nothing')).json.error).to.equal('rate_limited')
  })

  describe("of an operator's own account", () => {
    it('gets credits and money only from another operator', async () => {
      const [operator, another] = [await anAsker(gateway, 'admin'), await anAsker(gateway, 'admin')]
      const path = `/api/operator/accounts/${operator.id}`
      const { payment } = (await operator.ask('POST', '/api/billing/checkout', { pack: 'starter' })).json
      await putToReview(gateway.db, parseId('payment', payment.id)!, 'amount')
      const code = (await operator.ask('POST', '/api/operator/codes', { credits: 1000 })).json.code as string
      const DEEDS: [path: string, body: object, others: number][] = [
        [`${path}/grants`, { amount: 1000, origin: 'purchase' }, 200],
        [`${path}/forgive-debt`, {}, 200],
        [`/api/operator/payments/${payment.id}/refund`, { force: true }, 400],
        [`/api/operator/payments/${payment.id}/resolve`, { verdict: 'grant' }, 200],
      ]
      for (const [deed, body] of DEEDS) {
        const { status, json } = await operator.ask('POST', deed, body)
        const due = [403, 'forbidden', 'This is your own account: another operator has to do that.']
        expect([status, json.error, json.message], deed).to.deep.equal(due)
      }
      const redeemed = await operator.ask('POST', '/api/billing/redeem', { code })
      expect([redeemed.status, redeemed.json.error]).to.deep.equal([403, 'forbidden'])
      expect((await operator.ask('GET', '/api/account')).json.credits).to.equal(0)
      for (const [deed, body, status] of DEEDS) {
        const done = await another.ask('POST', deed, body)
        expect([done.status, done.json.error === 'forbidden'], `${deed} ${done.text}`).to.deep.equal([status, false])
      }
      expect((await another.ask('POST', '/api/billing/redeem', { code })).status).to.equal(200)
    })

    it('gets them from the command line, which is recorded', async () => {
      const { id } = await anAsker(gateway, 'admin')
      const accountId = parseId('account', id)!
      const given = { id: newId('grant'), accountId, amount: 5, origin: 'bonus' } as const
      expect(await grantCredits(gateway.db, null, given)).to.equal(5)
      expect(await forgive(gateway.db, null, accountId)).to.equal(0)
      const recorded = await gateway.db('operator_actions').where({ account_id: accountId, action: 'credits_granted' })
      expect(recorded[0]).to.include({ operator_id: null })
    })
  })
})
