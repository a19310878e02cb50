import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { chunksOf } from './support/chunks.ts'
import { addDialects } from './support/responses.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

const PATCH = { type: 'custom', custom: { name: 'patch', description: 'Patches a file.', format: { type: 'text' } } }
const CHOICE = { tool_choice: { type: 'custom', custom: { name: 'patch' } } }

// What every protocol is sent of a chat: test/workers/upstreams/cells.test.ts.
describe('a chat that is translated', () => {
  const gateway = useGateway({}, (catalogue) => {
    addDialects(catalogue)
    const { upstreams, models } = catalogue
    // A compatible server that knows functions alone.
    upstreams.compatible = { ...upstreams.sandbox, customTools: false }
    const pricing = { input: 1, output: 1, perTokens: 1000, minimum: 1 }
    const claude = { upstream: 'claude', model: 'claude-sandbox' }
    const at = (upstream: string) => ({ upstream, model: 'gpt-sandbox' })
    for (const [id, ...routes] of [
      ['any-chat', claude, at('sandbox')],
      ['compatible-chat', at('compatible')],
    ] as const)
      models.push({ id, modality: 'chat', pricing, upstreams: routes })
  })
  const account = useOneAccount(gateway, 1_000_000)

  const sent = (content: string) => gateway.sandbox.journal(content).at(-1)!.body as Record<string, unknown>

  it('is refused by the name of what no upstream of its model carries, and costs nothing', async () => {
    const before = await account.balance()
    const reply = await account.chat(prompted(), { model: 'claude', seed: 1 })
    expect([reply.status, reply.json.error?.param], reply.text).to.deep.equal([400, 'seed'])
    expect(await account.balance()).to.equal(before)
    const served = await account.chat(prompted('[answer fine]'), { model: 'any-chat', seed: 1 })
    expect(served.status, served.text).to.equal(200)
  })

  for (const [model, choice] of [
    ['claude', { type: 'tool', name: 'patch' }],
    ['compatible-chat', { type: 'function', function: { name: 'patch' } }],
  ] as const)
    it(`has custom tools as functions of one text, whose calls come back as such, streamed too: ${model}`, async () => {
      for (const stream of [false, true]) {
        const content = prompted('[tool patch]')
        const reply = await account.chat(content, { model, tools: [PATCH], ...CHOICE, stream })
        expect(reply.status, reply.text).to.equal(200)
        expect(JSON.stringify(sent(content).tools)).to.include('"properties":{"input":{"type":"string"}}')
        expect(sent(content).tool_choice).to.deep.equal(choice)
        const [{ message }] = (await account.get(`/v1/calls/${reply.headers.get('x-call-id')}`)).json.choices
        const [call] = message.tool_calls
        expect(call).to.include({ type: 'custom' }).and.not.to.have.property('function')
        expect(call.custom.name).to.equal('patch')
        expect(call.custom.input).to.be.a('string').that.does.not.include('"input"')
        if (stream) {
          const calls = chunksOf(reply.text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
          expect(calls).to.deep.equal([{ index: 0, ...call }])
        }
        const result = { role: 'tool', tool_call_id: call.id, content: 'patched' }
        const messages = [
          { role: 'user', content },
          message,
          result,
          { role: 'user', content: prompted('[answer done]') },
        ]
        const second = await account.chat('', { model, tools: [PATCH], messages })
        expect(second.json.choices?.[0].message.content, second.text).to.equal('done')
      }
    })

  it('has custom tools of a message, where that is the type of an ordinary tool, as such', async () => {
    const schema = { type: 'object' }
    for (const model of ['claude', 'compatible-chat']) {
      const content = prompted('[tool weather]')
      const tools = [{ type: 'custom', name: 'weather', input_schema: schema }]
      const body = { model, max_tokens: 100, messages: [{ role: 'user', content }], tools }
      const { json, text } = await account.post('/v1/messages', body)
      expect(json.content.at(-1), text).to.include({ type: 'tool_use', name: 'weather' })
      const fn = { name: 'weather', parameters: { ...schema, properties: {} } }
      expect(sent(content).tools).to.deep.equal(model === 'claude' ? tools : [{ type: 'function', function: fn }])
    }
  })
})
