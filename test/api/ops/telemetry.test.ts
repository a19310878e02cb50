import { expect } from 'chai'
import Stripe from 'stripe'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { startWeb } from '../../../src/api/web.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { chat, image, prompted } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { startGateway, testConfig } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../../scripts/harness/until.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, anEmail } from '../../support/console.ts'
import { readableLog } from '../../support/log-lines.ts'
import type { Span } from '../../support/otlp.ts'
import { Receiver, said } from '../../support/otlp.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

// As OTLP numbers them.
const [SERVER, CONSUMER, ERROR] = [2, 5, 2]

/** Finds the span of a name below another one. */
const spansOf =
  ({ spans }: Receiver) =>
  (parent: Span, name: string): Span =>
    spans.find((one) => one.parentSpanId === parent.spanId && one.name === name)!

/** Sandbox, web and worker that export to an endpoint; `end` stops both, and so sends the rest. */
async function startExporting(endpoint: string) {
  const sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.02 })
  // A database of its own: what other tests left in theirs would be worked, and traced, too.
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, DATABASE_URL: await newDatabaseUrl() }
  const config = await testConfig(sandbox.url, settings)
  const { log, lines } = readableLog()
  const [web, worker] = await Promise.all([startWeb(config, log, 500), startWorker(config, log, 500)])
  const db = connectTestDb(config)
  const account = await anAccount(db, 1000)
  const place = { url: `http://127.0.0.1:${web.port}` }
  return {
    sandbox,
    lines,
    account,
    ask: (prompt: string, as = chat): Promise<Reply> => as(place, account, prompt, {}, { traceparent }),
    end: async () => {
      await Promise.all([web.stop(), worker.stop()])
      await db.destroy()
      await sandbox.close()
    },
  }
}

describe('telemetry', () => {
  it('has a call as one trace to its upstream, without what was asked, and the metrics of /metrics', async () => {
    const receiver = new Receiver()
    const { sandbox, account, ask, end } = await startExporting(await receiver.listen())
    const prompt = prompted('[usage 100 50] a secret lighthouse')
    const reply = await ask(prompt)
    expect(reply.status, reply.text).to.equal(200)
    const { json } = await get(`${sandbox.url}/sandbox/journal?prompt=${encodeURIComponent(prompt)}`)
    expect((await ask(prompted('[status 403] a secret lighthouse'), image)).status).to.equal(503)
    await end()
    receiver.close()

    const call = reply.headers.get('x-call-id')
    const first = receiver.spans.find((one) => said(one)['tollgate.call'] === call && one.kind === SERVER)!
    expect(first).to.include({ name: 'POST /v1/chat/completions', parentSpanId: PARENT, service: 'tollgate-web' })
    expect(said(first)).to.include({ 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 })
    const below = spansOf(receiver)
    const sent = below(first, 'send chat')
    const processed = below(sent, 'process chat')
    expect(processed).to.include({ service: 'tollgate-worker', kind: CONSUMER })
    const asked = below(processed, 'chat gpt-sandbox')
    expect(said(asked)).to.include({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-sandbox',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 50,
      'tollgate.upstream': 'sandbox',
    })
    expect(json.entries[0].headers.traceparent).to.equal(`00-${TRACE}-${asked.spanId}-01`)
    expect(new Set(receiver.spans.map(({ traceId }) => traceId))).to.deep.equal(new Set([TRACE]))

    const failed = receiver.spans.filter(({ status }) => status.code === ERROR)
    expect(failed.map((one) => [one.name, said(one)['error.type']])).to.have.deep.members([
      ['generate_content image-sandbox', 'not_served'],
      ['process image', 'upstream_unavailable'],
      ['POST /v1/images/generations', '503'],
    ])
    const of = (service: string, name: string) =>
      receiver.metrics.find((one) => one.service === service && one.name === name)!
    const opened = of('tollgate-web', 'tollgate_calls_opened_total').sum!.dataPoints
    expect(opened.map((one) => [one.asDouble, said(one)])).to.have.deep.members([
      [1, { modality: 'chat', model: 'sandbox-chat' }],
      [1, { modality: 'image', model: 'sandbox-image' }],
    ])
    const [tried] = of('tollgate-worker', 'tollgate_upstream_try_seconds').histogram!.dataPoints
    expect([tried!.count, tried!.bucketCounts!.reduce((sum, count) => sum + count)]).to.deep.equal([2, 2])
    const everything = receiver.bodies.join()
    for (const secret of ['lighthouse', account.key, 'sk-made-up']) expect(everything).not.to.contain(secret)
  })

  it('costs no call and no stop anything while its endpoint is away or refuses', async () => {
    const receiver = new Receiver(400)
    for (const endpoint of ['http://127.0.0.1:9', await receiver.listen()]) {
      const { lines, ask, end } = await startExporting(endpoint)
      expect((await ask(prompted())).status).to.equal(200)
      await end()
      expect(lines.filter(({ msg }) => msg === 'telemetry not exported').length).to.be.at.most(2)
    }
    receiver.close()
    expect(receiver.bodies).not.to.deep.equal([])
  })
})

const NAME = 'traced'
const SECRET = 'whsec_of_traced'

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
    const below = spansOf(receiver)
    const hook = receiver.spans.find(({ name }) => name === 'POST /hooks/stripe')!
    expect(hook.traceId).to.equal(TRACE)
    const processed = below(hook, 'process event')
    expect(said(processed)).to.include({ 'messaging.destination.name': 'payments' })
    expect(below(processed, 'stripe read order')).to.include({ service: 'tollgate-worker' })
    const everything = receiver.bodies.join()
    for (const secret of [body.email, session, `sk_test_${NAME}`, SECRET]) expect(everything).not.to.include(secret)
  })
})
