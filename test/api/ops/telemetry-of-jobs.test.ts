import { expect } from 'chai'
import Stripe from 'stripe'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { send } from '../../../scripts/harness/http.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PASSWORD, anEmail } from '../../support/console.ts'
import type { Span } from '../../support/otlp.ts'
import { Receiver, said } from '../../support/otlp.ts'

const NAME = 'traced'
const SECRET = 'whsec_of_traced'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** A gateway that sells and exports; `end` stops it, and so sends the rest. */
async function startSelling(receiver: Receiver) {
  const gateway = await startGateway({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: `sk_test_${NAME}`,
    STRIPE_WEBHOOK_SECRET: SECRET,
    OTEL_EXPORTER_OTLP_ENDPOINT: await receiver.listen(),
  })
  return {
    gateway,
    stripe: stripeAccountAt(gateway.sandbox.url, NAME),
    end: async () => {
      await gateway.stop()
      receiver.close()
    },
  }
}

/** The span of a mail: those of other tests in the same database may be due meanwhile. */
const spanOf = ({ spans }: Receiver, mail: MailId) =>
  spans.find((one) => one.name === 'process mail' && said(one)['tollgate.mail'] === publicId('mail', mail))!

describe('telemetry of mails and payments', () => {
  it('shows a mail as a span, and an event of the provider as one trace, without addresses and secrets', async () => {
    const receiver = new Receiver()
    const { gateway, stripe, end } = await startSelling(receiver)
    const body = { email: anEmail(), password: PASSWORD }
    const { json } = await send('POST', `${gateway.url}/api/auth/register`, { body })
    const mail = await until('the mail is sent', async () =>
      gateway.db('mails').where({ recipient: body.email, status: 'sent' }).first<{ id: MailId }>('id'),
    )
    const bought = await send('POST', `${gateway.url}/api/billing/checkout`, {
      key: json.token,
      body: { pack: 'starter' },
    })
    const { id } = bought.json.payment
    const { session } = await gateway.db('payments').orderBy('id', 'desc').first<{ session: string }>('session')
    await stripe.pay(session)
    const payload = JSON.stringify({
      id: 'evt_traced',
      object: 'event',
      type: 'checkout.session.completed',
      livemode: false,
      data: { object: { id: session, object: 'checkout.session', client_reference_id: id, metadata: { payment: id } } },
    })
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET })
    const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
    const headers = { 'stripe-signature': signature, traceparent }
    expect((await send('POST', `${gateway.url}/hooks/stripe`, { body: payload, headers })).status).to.equal(200)
    await until('the event is decided', async () =>
      gateway.db('payment_events').where({ id: 'evt_traced' }).whereNotNull('outcome').first(),
    )
    await end()
    const ofMail = spanOf(receiver, mail.id)
    expect(ofMail).to.include({ service: 'tollgate-worker' })
    expect(said(ofMail)).to.include({
      'messaging.destination.name': 'mail',
      'tollgate.mail.kind': 'verification',
      'tollgate.mail.try': 1,
      'tollgate.outcome': 'sent',
    })
    const below = (parent: Span, name: string) =>
      receiver.spans.find((one) => one.parentSpanId === parent.spanId && one.name === name)!
    const hook = receiver.spans.find(({ name }) => name === 'POST /hooks/stripe')!
    expect(hook.traceId).to.equal(TRACE)
    const processed = below(hook, 'process event')
    expect(said(processed)).to.include({ 'messaging.destination.name': 'payments' })
    expect(below(processed, 'stripe read order')).to.include({ service: 'tollgate-worker' })
    const everything = receiver.bodies.join()
    for (const secret of [body.email, session, `sk_test_${NAME}`, SECRET]) expect(everything).not.to.include(secret)
  })
})
