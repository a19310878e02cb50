import { expect } from 'chai'
import type { Redis } from 'ioredis'
import type { Reply } from '../../../scripts/harness/http.ts'
import { connectProducer } from '../../../src/shared/platform/redis/redis.ts'
import type { Script } from '../../upstreams/support/scripted.ts'
import { saying } from '../../upstreams/support/scripted.ts'
import { useGateway, useOneAccount, useScripted } from '../../support/gateway.ts'

type Fields = Record<string, unknown>

const COUNT = '/v1/messages/count_tokens'
const failing =
  (status: number): Script =>
  (_request, response) =>
    void response.writeHead(status).end()

describe('POST /v1/messages/count_tokens', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, ({ upstreams, models }) => {
    upstreams.native = { ...upstreams.sandbox, protocol: 'anthropic', baseUrl: scripted.origin }
    const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
    models.push({ id: 'claude', modality: 'chat', pricing, upstreams: [{ upstream: 'native', model: 'a-claude' }] })
  })
  // It has never had a credit.
  const account = useOneAccount(gateway)
  let redis: Redis
  before(() => {
    redis = connectProducer(gateway.config)
  })
  after(() => redis.disconnect())
  afterEach(async () => {
    expect(await account.balance()).to.equal(0)
    expect(await account.counts()).to.deep.equal({ calls: 0, charged: 0, entries: 0 })
    expect(await redis.keys(`${gateway.config.REDIS_PREFIX}:request:*`)).to.deep.equal([])
  })

  const user = (content: unknown) => [{ role: 'user', content }]
  const count = (model: string, content: unknown, more: Fields = {}, headers = {}) =>
    account.post(COUNT, { model, messages: user(content), ...more }, headers)

  const expectEstimate = (reply: Reply, what?: string): void => {
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json, what).to.have.all.keys('input_tokens')
    expect(reply.json.input_tokens, what).to.be.within(30, 120)
  }

  it("answers its upstream's count, asked without what is about the output", async () => {
    const asked: { url?: string | undefined; body: Fields; beta: unknown }[] = []
    const prompt = scripted.prompt((request, response, body) => {
      asked.push({ url: request.url, body: JSON.parse(body) as Fields, beta: request.headers['anthropic-beta'] })
      saying('{"input_tokens": 7, "more": 1}')(request, response, body)
    })
    const kept = { system: 'Be brief.', thinking: { type: 'enabled', budget_tokens: 2048 } }
    const beta = 'interleaved-thinking-2025-05-14'
    const fields = { ...kept, max_tokens: 9, temperature: 1, metadata: {} }
    const reply = await count('claude', prompt, fields, { 'anthropic-beta': beta })
    expect([reply.status, reply.json]).to.deep.equal([200, { input_tokens: 7 }])
    expect(asked).to.deep.equal([{ url: COUNT, body: { ...kept, model: 'a-claude', messages: user(prompt) }, beta }])
  })

  it('has a body of megabytes counted too, and leaves nothing of it in Redis', async () => {
    const prompt = scripted.prompt(saying('{"input_tokens": 1000000}'))
    const reply = await count('claude', `${prompt} ${'x'.repeat(2_000_000)}`)
    expect(reply.json).to.deep.equal({ input_tokens: 1_000_000 })
  })

  const FAILING: Record<string, Script> = {
    'has no such endpoint': failing(404),
    fails: failing(500),
    'answers no count': saying('{"input_tokens": "7"}'),
    'answers a negative count': saying('{"input_tokens": -7}'),
    'does not answer in time': () => {},
    'breaks off': (_request, response) => void response.destroy(),
  }
  it('answers the estimate of the hold where its upstream answers no count', () =>
    Promise.all(
      Object.entries(FAILING).map(async ([what, script]) =>
        expectEstimate(await count('claude', scripted.prompt(script)), what),
      ),
    ))

  it('answers the estimate over an upstream of another protocol, and while no worker runs', async () => {
    expectEstimate(await count('sandbox-chat', 'hello '.repeat(10)))
    await gateway.stopWorker()
    expectEstimate(await count('claude', scripted.prompt(saying('{"input_tokens": 7}'))))
    await gateway.startWorker()
  })

  it('hands no address to an upstream that nobody has looked up', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const prompt = scripted.prompt(saying('{"input_tokens": 7}'))
    const reply = await count('claude', [{ type: 'text', text: prompt }, image])
    expect(reply.json.input_tokens).to.be.above(7)
  })

  it('opens no circuit by counts that fail: the next call is sent', async () => {
    for (let nth = 0; nth < 6; nth++) await count('claude', scripted.prompt(failing(404)))
    const answer = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }] }
    const ended = { stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } }
    const messages = user(scripted.prompt(saying(JSON.stringify({ ...answer, ...ended }))))
    const rich = await gateway.account(1000)
    const reply = await rich.post('/v1/messages', { model: 'claude', max_tokens: 9, messages })
    expect(reply.status, reply.text).to.equal(200)
  })
})
