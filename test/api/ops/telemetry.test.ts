import { expect } from 'chai'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { startWeb } from '../../../src/api/web.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { chat, image, prompted } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { testConfig } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get } from '../../../scripts/harness/http.ts'
import { readableLog } from '../../support/log-lines.ts'
import type { Span } from '../../support/otlp.ts'
import { Receiver, said } from '../../support/otlp.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

// As OTLP numbers them.
const [SERVER, CONSUMER, ERROR] = [2, 5, 2]

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
    const below = (parent: Span, name: string) =>
      receiver.spans.find((one) => one.parentSpanId === parent.spanId && one.name === name)!
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
