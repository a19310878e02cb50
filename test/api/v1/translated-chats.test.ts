import { expect } from 'chai'
import { chat, prompted } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { blocksOf, messageEvents } from './support/message-events.ts'
import { useGateway } from '../../support/gateway.ts'
import { chunksOf } from './support/chunks.ts'

const PATCH = { type: 'custom', custom: { name: 'patch', description: 'Patches a file.', format: { type: 'text' } } }
const CHOICE = { tool_choice: { type: 'custom', custom: { name: 'patch' } } }

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
const THINKING = { type: 'enabled', budget_tokens: 1024 }

type Message = { content: unknown; tool_calls: { id: string }[]; reasoning_content: string }

describe('a chat that is translated', () => {
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
    Object.assign(upstreams, {
      claude: { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') },
    })
    // A compatible server that knows functions alone.
    upstreams.compatible = { ...upstreams.sandbox, customTools: false }
    const pricing = { input: 1, output: 1, perTokens: 1000, minimum: 1 }
    const served = [{ upstream: 'claude', model: 'claude-sandbox' }]
    const both = [
      { upstream: 'claude', model: 'claude-sandbox' },
      { upstream: 'sandbox', model: 'gpt-sandbox' },
    ]
    models.push({ id: 'any-chat', modality: 'chat', pricing, upstreams: both })
    models.push({ id: 'claude-chat', modality: 'chat', pricing, upstreams: served })
    const thinking = served.map((route) => ({ ...route, allow: ['thinking'] }))
    models.push({ id: 'thinking-chat', modality: 'chat', pricing, upstreams: thinking })
    const compatible = [{ upstream: 'compatible', model: 'gpt-sandbox' }]
    models.push({ id: 'compatible-chat', modality: 'chat', pricing, upstreams: compatible })
  })
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  const stateOf = async () => (await get(`${gateway.url}/v1/key`, account.key)).json

  const sent = (content: string) => gateway.sandbox.journal(content).at(-1)!.body as Record<string, unknown>

  it('is refused by the name of what no upstream of its model carries, and costs nothing', async () => {
    const before = await stateOf()
    for (const [asked, param] of [
      [{ seed: 1 }, 'seed'],
      [{ n: 2 }, 'n'],
      [{ response_format: { type: 'json_object' } }, 'response_format'],
      [{ messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] }, 'messages[0]'],
    ] as const) {
      const reply = await chat(gateway, account, prompted(), { model: 'claude-chat', ...asked })
      expect([reply.status, reply.json.error?.param], reply.text).to.deep.equal([400, param])
    }
    expect(await stateOf()).to.deep.equal(before)
    const served = await chat(gateway, account, prompted('[answer fine]'), { model: 'any-chat', seed: 1 })
    expect(served.status, served.text).to.equal(200)
  })

  describe('custom tools', () => {
    it('are sent as they are to an upstream of the protocol openai', async () => {
      const content = prompted('[answer fine]')
      const reply = await chat(gateway, account, content, { tools: [PATCH], ...CHOICE })
      expect(reply.status, reply.text).to.equal(200)
      expect(sent(content)).to.deep.include({ tools: [PATCH], ...CHOICE })
    })

    it('are functions of one text to another upstream, whose calls come back as calls of the custom tool', async () => {
      const content = prompted('[tool patch]')
      const reply = await chat(gateway, account, content, { model: 'claude-chat', tools: [PATCH], ...CHOICE })
      expect(reply.status, reply.text).to.equal(200)
      const [tool] = sent(content).tools as { name: string; input_schema: object }[]
      expect(tool).to.deep.include({
        name: 'patch',
        input_schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
      })
      expect(sent(content).tool_choice).to.deep.equal({ type: 'tool', name: 'patch' })
      const [{ message }] = reply.json.choices
      const [call] = message.tool_calls
      expect(call).to.include({ type: 'custom' }).and.not.to.have.property('function')
      expect(call.custom.name).to.equal('patch')
      expect(call.custom.input).to.be.a('string').that.does.not.include('"input"')
      // The call and its result are sent back.
      const result = { role: 'tool', tool_call_id: call.id, content: 'patched' }
      const next = prompted('[answer done]')
      const messages = [{ role: 'user', content }, message, result, { role: 'user', content: next }]
      const second = await chat(gateway, account, '', { model: 'claude-chat', tools: [PATCH], messages })
      expect(second.json.choices?.[0].message.content, second.text).to.equal('done')
    })

    it('are functions of one text to an upstream of the protocol openai whose customTools is false', async () => {
      for (const stream of [false, true]) {
        const content = prompted('[tool patch]')
        const asked = { model: 'compatible-chat', tools: [PATCH], ...CHOICE, stream }
        const reply = await chat(gateway, account, content, asked)
        expect(reply.status, reply.text).to.equal(200)
        const [tool] = sent(content).tools as { type: string; function: object }[]
        expect(tool).to.deep.include({ type: 'function' })
        expect(tool!.function).to.deep.include({
          name: 'patch',
          parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
        })
        expect(sent(content).tool_choice).to.deep.equal({ type: 'function', function: { name: 'patch' } })
        const fetched = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
        const [call] = fetched.json.choices[0].message.tool_calls
        expect(call).to.deep.include({ type: 'custom' }).and.not.to.have.property('function')
        expect(call.custom.name).to.equal('patch')
      }
    })

    it('come back in a stream whole, and the stored answer is the same', async () => {
      const content = prompted('[tool patch]')
      const reply = await chat(gateway, account, content, { model: 'claude-chat', tools: [PATCH], stream: true })
      const calls = chunksOf(reply.text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
      expect(calls).to.have.lengthOf(1)
      expect(calls[0]).to.include({ type: 'custom', index: 0 })
      const fetched = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
      const { index: _index, ...call } = calls[0] as { index: number }
      expect(fetched.json.choices[0].message.tool_calls).to.deep.equal([call])
      expect(fetched.json.usage.output_tokens).to.be.above(0)
    })
  })

  describe('custom tools in a message, where that is the type of an ordinary tool,', () => {
    const WEATHER = { type: 'custom', name: 'weather', input_schema: { type: 'object' } }

    async function ask(model: string, stream: boolean) {
      const content = prompted('[tool weather]')
      const messages = [{ role: 'user', content }]
      const body = { model, max_tokens: 100, messages, tools: [WEATHER], stream }
      const reply = await post(`${gateway.url}/v1/messages`, account.key, body)
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.text).to.not.include('"choices"')
      return { reply, tools: sent(content).tools }
    }

    for (const model of ['claude-chat', 'compatible-chat'])
      it(`are sent and called as such: ${model}`, async () => {
        const whole = await ask(model, false)
        expect(whole.reply.json.content.at(-1)).to.include({ type: 'tool_use', name: 'weather' })
        const streamed = await ask(model, true)
        expect(blocksOf(messageEvents(streamed.reply)).at(-1)).to.have.property('weather')
        for (const { tools } of [whole, streamed]) {
          const expected =
            model === 'claude-chat'
              ? WEATHER
              : {
                  type: 'function',
                  function: { name: 'weather', parameters: { ...WEATHER.input_schema, properties: {} } },
                }
          expect(tools).to.deep.equal([expected])
        }
      })
  })

  describe('the thoughts of a Claude', () => {
    for (const stream of [false, true]) {
      it(`come back to it with their signatures over three turns, ${stream ? 'streamed' : 'whole'}`, async () => {
        const asking = { model: 'thinking-chat', tools: [TOOL], thinking: THINKING, max_tokens: 2000 }
        const messages: object[] = []
        for (const words of ['[tools 2] [sealed-thoughts]', '[tools 2] [answer Let me see.]', '[answer Done.]']) {
          const prompt = prompted(`${words} [thoughts I wonder]`)
          messages.push({ role: 'user', content: prompt })
          // The sandbox takes back what it signed alone.
          const reply = await chat(gateway, account, '', { ...asking, messages, stream })
          expect(reply.status, reply.text).to.equal(200)
          const kept = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
          const { message } = kept.json.choices[0] as { message: Message }
          expect(message.reasoning_content).to.equal('I wonder')
          const results = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'a' }))
          messages.push(message, ...results)
        }
        const last = await chat(gateway, account, '', {
          ...asking,
          messages: [...messages, { role: 'user', content: prompted('[answer ok]') }],
        })
        expect(last.json.choices[0].message.content, last.text).to.equal('ok')
        type Turn = { role: string; content: { type: string; thinking?: string }[] }
        const prompt = (messages.at(-2) as { content: string }).content
        const sent = (gateway.sandbox.journal(prompt).at(-1)!.body as { messages: Turn[] }).messages
        const kinds = sent
          .filter(({ role }) => role === 'assistant')
          .map(({ content }) => content.map(({ type }) => type))
        expect(kinds).to.deep.equal([
          ['thinking', 'redacted_thinking', 'tool_use', 'tool_use'],
          ['thinking', 'text', 'tool_use', 'tool_use'],
        ])
      })
    }
  })
})
