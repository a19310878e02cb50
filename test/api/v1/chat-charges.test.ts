import { expect } from 'chai'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { CHAT, chat, chatBody, countsOf, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { useGateway } from '../../support/gateway.ts'

const PRICING = { input: 1, output: 3, perTokens: 25, minimum: 1 }
const PARTS = { file: 100, input_audio: 100, video: 100, document: 100 }
const FILLING = 'A'.repeat(24 * 1024)

const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }

/** Chats with the filling in each place. `[usage]` makes the sandbox bill a token for every four bytes of it. */
function chats(): Record<string, object> {
  const hidden = `data:text/plain;base64,${FILLING}`
  const words = `[usage ${FILLING.length / 4} 1]`
  const asked = (more: object): object => chatBody(prompted(words), { model: 'priced-chat', max_tokens: 1, ...more })
  const besides = (...messages: object[]): object =>
    asked({ messages: [...messages, { role: 'user', content: prompted(words) }] })
  const schemaOf = (value: string): object => ({ type: 'object', properties: { link: { default: { url: value } } } })
  const formatOf = (schema: object): object =>
    asked({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
  return {
    response_format: formatOf({ enum: [FILLING] }),
    'a data: URI in response_format': formatOf(schemaOf(hidden)),
    functions: asked({ functions: [{ name: 'f', description: FILLING }] }),
    prediction: asked({ prediction: { type: 'content', content: FILLING } }),
    'a file part': besides({ role: 'user', content: [{ type: 'file', file: { file_data: hidden } }] }),
    'a video_url part': besides({ role: 'user', content: [{ type: 'video_url', video_url: { url: hidden } }] }),
    'tools[].function.parameters…default.url': asked({
      tools: [{ type: 'function', function: { name: 'f', parameters: schemaOf(hidden) } }],
    }),
    "a tool call's arguments": besides(
      {
        role: 'assistant',
        tool_calls: [{ ...call, function: { name: 'f', arguments: JSON.stringify({ url: hidden }) } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ),
    metadata: asked({ metadata: { url: hidden } }),
  }
}

describe('what is billed was charged', () => {
  const gateway = useGateway({}, ({ models }) => {
    const entry = { upstream: 'sandbox', model: 'gpt-sandbox' }
    models.push(
      { id: 'priced-chat', modality: 'chat', pricing: PRICING, partTokens: PARTS, upstreams: [entry] },
      {
        id: 'tiered-chat',
        modality: 'chat',
        pricing: PRICING,
        upstreams: [
          { ...entry, model: 'refusing-gpt' },
          { ...entry, allow: ['service_tier'] },
        ],
      },
      {
        id: 'set-chat',
        modality: 'chat',
        pricing: PRICING,
        upstreams: [{ ...entry, allow: ['service_tier'], set: { service_tier: 'default' } }],
      },
      {
        id: 'narrow-chat',
        modality: 'chat',
        pricing: { ...PRICING, perTokens: 1 },
        bytesPerToken: 1,
        upstreams: [entry],
      },
    )
  })

  for (const [place, body] of Object.entries(chats())) {
    it(`with 24 KB in ${place}`, async () => {
      const account = await anAccount(gateway.db, 10_000)
      const reply = await post(`${gateway.url}${CHAT}`, account.key, body)
      expect(reply.status, reply.text.slice(0, 500)).to.equal(200)
      const record = await recordOf(gateway.db, reply)
      expect(record.creditsPrecharged).to.be.at.least(Math.ceil(FILLING.length / 3 / 25))
      expect(record.creditsPrecharged).to.be.at.least(record.credits)
      expect(record).to.include({ credits: 246, creditsUncollected: 0 })
    })
  }

  /** Fifty calls at once, of each place in turn. */
  async function fifty(account: TestAccount): Promise<Reply[]> {
    const bodies = Object.values(chats())
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_one, nth) =>
        post(`${gateway.url}${CHAT}`, account.key, bodies[nth % bodies.length]),
      ),
    )
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    return replies
  }

  it('with fifty calls at once from 100 credits: all are refused and nothing is uncollected', async () => {
    const account = await anAccount(gateway.db, 100)
    const replies = await fifty(account)
    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([402]))
    expect(await balanceOf(gateway.db, account.id)).to.equal(100)
    expect((await countsOf(gateway.db, account)).charged).to.equal(0)
  })

  it('with fifty calls at once from 1,000 credits: those it can pay run and nothing is uncollected', async () => {
    const account = await anAccount(gateway.db, 1000)
    const replies = await fifty(account)
    const done = replies.filter(({ status }) => status === 200)
    expect(done).to.have.length.within(2, 4)
    const records = await Promise.all(done.map((reply) => recordOf(gateway.db, reply)))
    expect(records.map(({ creditsUncollected }) => creditsUncollected)).to.deep.equal(done.map(() => 0))
    expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - 246 * done.length)
  })

  it('with the bytes a token of the model', async () => {
    const account = await anAccount(gateway.db, 10_000)
    const body = chatBody(prompted('[usage 1 1]'), { model: 'narrow-chat', max_tokens: 1 })
    const reply = await post(`${gateway.url}${CHAT}`, account.key, body)
    expect((await recordOf(gateway.db, reply)).creditsPrecharged).to.equal(Buffer.byteLength(JSON.stringify(body)) + 3)
  })

  it("with a field that one upstream allows: only that is asked, and the operator's value wins", async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    expect((await chat(gateway, account, prompt, { model: 'tiered-chat', service_tier: 'flex' })).status).to.equal(200)
    const bodies = gateway.sandbox.journal(prompt).map(({ body }) => body as Record<string, unknown>)
    expect(bodies.map(({ model, service_tier: tier }) => [model, tier])).to.deep.equal([['gpt-sandbox', 'flex']])
    const fixed = prompted()
    expect((await chat(gateway, account, fixed, { model: 'set-chat', service_tier: 'priority' })).status).to.equal(200)
    expect(gateway.sandbox.journal(fixed)[0]!.body).to.include({ service_tier: 'default' })
    const refused = await chat(gateway, account, 'x', { service_tier: 'flex' })
    expect(refused.json.error).to.include({ type: 'invalid_request', param: 'service_tier' })
  })
})
