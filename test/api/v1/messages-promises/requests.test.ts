/**
 * Requests of the Messages API that other gateways got wrong, as promises.
 */
import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { prompted } from '../../../../scripts/harness/calling.ts'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../../scripts/harness/factories.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { send } from '../../../../scripts/harness/http.ts'
import { claudeAndGpt } from '../support/message-models.ts'
import type { Event } from '../support/message-events.ts'
import { useGateway } from '../../../support/gateway.ts'

type Fields = Record<string, unknown>

const TOOL = { name: 'look', input_schema: { type: 'object' } }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })

describe('a request to POST /v1/messages, where other gateways were wrong', () => {
  const gateway = useGateway({}, (catalogue) => {
    claudeAndGpt(catalogue)
    const { upstreams, models } = catalogue
    Object.assign(upstreams, { strict: { ...upstreams.sandbox, systemAnywhere: false } })
    const served = [{ upstream: 'strict', model: 'sandbox/chat' }]
    models.push({ ...models.find(({ id }) => id === 'gpt')!, id: 'strict', upstreams: served })
  })
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  function ask(
    model: string,
    content: unknown,
    more: Fields = {},
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const body = { model, max_tokens: 2000, messages: [user(content)], ...more }
    return send('POST', `${gateway.url}/v1/messages?beta=true`, { key: account.key, body, headers })
  }

  const sentTo = (prompt: string) => gateway.sandbox.journal(prompt).at(-1)!

  const messagesFor = (prompt: string) => (sentTo(prompt).body as { messages: Event[] }).messages

  it('2. an empty input goes to chat completions as {}', async () => {
    for (const input of ['', null, {}]) {
      const prompt = prompted('[answer fine]')
      const call = { type: 'tool_use', id: 'one', name: 'look', input }
      const result = { type: 'tool_result', tool_use_id: 'one', content: 'a' }
      const messages = [user('go'), assistant(call), user([result, { type: 'text', text: prompt }])]
      expect((await ask('gpt', '', { messages })).status).to.equal(200)
      expect(messagesFor(prompt)[1]!.tool_calls[0].function.arguments).to.equal('{}')
    }
  })

  it('7. a thought without a signature, such as one of another model, is left out for Anthropic', async () => {
    const first = user(prompted('[tools 1] [thoughts I wonder]'))
    const answer = await ask('gpt', '', { messages: [first], tools: [TOOL] })
    expect(answer.json.content[0]).to.deep.equal({ type: 'thinking', thinking: 'I wonder', signature: '' })
    const [, { id }] = answer.json.content
    const prompt = prompted('[answer fine]')
    const results = [
      { type: 'tool_result', tool_use_id: id, content: 'a' },
      { type: 'text', text: prompt },
    ]
    const messages = [first, assistant(...answer.json.content), user(results)]
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const next = await ask('claude', '', { messages, tools: [TOOL], thinking })
    expect(next.status, next.text).to.equal(200)
    expect(messagesFor(prompt)[1]!.content.map(({ type }: Event) => type)).to.deep.equal(['tool_use'])
    // A turn of nothing else is left out.
    const alone = assistant({ type: 'thinking', thinking: 'hm', signature: '' })
    const last = await ask('claude', '', { messages: [user('a'), alone, user(prompted('[answer fine]'))] })
    expect(last.status, last.text).to.equal(200)
  })

  it('8. a turn of the system in the middle is taken by every upstream', async () => {
    const call = { type: 'tool_use', id: 'one', name: 'look', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'one', content: 'a' }
    for (const [model, expected] of [
      ['claude', ['user', 'system', 'user', 'assistant', 'user']],
      ['gpt', ['system', 'user', 'system', 'user', 'assistant', 'tool', 'user']],
      ['strict', ['system', 'user', 'user', 'assistant', 'tool', 'user']],
    ] as const) {
      const prompt = prompted('[answer fine]')
      const messages = [
        user('one'),
        { role: 'system', content: 'The date has changed.' },
        user('two'),
        assistant(call),
        user([result, { type: 'text', text: prompt }]),
      ]
      const reply = await ask(model, '', { system: 'Be brief.', messages, tools: [TOOL] })
      expect(reply.status, reply.text).to.equal(200)
      expect(messagesFor(prompt).map(({ role }) => role)).to.deep.equal(expected)
      if (model === 'strict')
        expect(messagesFor(prompt)[2]!.content).to.equal('two\n\n<system>\nThe date has changed.\n</system>')
    }
  })

  it('8. it stands behind results of tools where it may only come first, and in its own turn at the end', async () => {
    const prompt = prompted('[answer x]')
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'seen' }
    const messages = [
      user('one'),
      assistant({ type: 'tool_use', id: 'a', name: 'look', input: {} }),
      { role: 'system', content: 'be brief' },
      user([result]),
      { role: 'system', content: prompt },
    ]
    const reply = await ask('strict', '', { messages, tools: [TOOL] })
    expect(reply.status, reply.text).to.equal(200)
    // The sandbox knows a prompt by its last message.
    const last = `<system>\n${prompt}\n</system>`
    expect(messagesFor(last).map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool', 'user'])
    expect(messagesFor(last)[3]!.content).to.equal(`<system>\nbe brief\n</system>\n\n${last}`)
  })

  it('9. fields and their betas pass together to Anthropic, and neither to others', async () => {
    const betas = 'context-management-2025-06-27,advanced-tool-use-2025-11-20'
    const schema = { type: 'object', additionalProperties: false }
    const fields = {
      tools: [{ ...TOOL, input_schema: schema, defer_loading: true, strict: true }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    }
    const asked = async (model: string) => {
      const prompt = prompted('[answer fine] [usage 50 5]')
      const reply = await ask(model, prompt, fields, { 'anthropic-beta': betas })
      expect(reply.status, reply.text).to.equal(200)
      // What a tool that is loaded later would have counted for is given back.
      expect(reply.json.usage).to.include({ input_tokens: 50, output_tokens: 5 })
      expect(reply.json.usage.credits).to.equal(50 + 3 * 5)
      return sentTo(prompt)
    }
    const native = await asked('claude')
    expect(native.headers['anthropic-beta']).to.equal(betas)
    expect(native.body).to.deep.include(fields)
    const other = await asked('gpt')
    expect(other.headers).to.not.have.property('anthropic-beta')
    expect(other.body).to.not.have.property('context_management')
    const [tool] = (other.body as { tools: unknown[] }).tools
    expect(tool).to.deep.equal({
      type: 'function',
      function: { name: 'look', parameters: { ...schema, properties: {} }, strict: true },
    })
  })

  it('10. the ids of other providers can be sent to Anthropic, and no two become one', async () => {
    const ids = ['call_abc.def:9', 'call_abc.def.9', `call_${'x'.repeat(65)}`]
    const prompt = prompted('[answer fine]')
    const messages = [
      user('go'),
      assistant(...ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} }))),
      user([
        ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: id })),
        { type: 'text', text: prompt },
      ]),
    ]
    const reply = await ask('claude', '', { messages, tools: [TOOL] })
    expect(reply.status, reply.text).to.equal(200)
    const [, calls, results] = messagesFor(prompt)
    const called = calls!.content.map(({ id }: Event) => id)
    expect(new Set(called).size).to.equal(3)
    expect(called[2]).to.equal(ids[2])
    expect(results!.content.flatMap(({ tool_use_id: id }: Event) => id ?? [])).to.deep.equal(called)
  })

  it('13. a refusal for the balance is not asked again by a client that retries', async () => {
    const poor = await anAccount(gateway.db, 10)
    let requests = 0
    const client = new Anthropic({
      baseURL: gateway.url,
      apiKey: poor.key,
      maxRetries: 3,
      fetch: (input, init) => {
        requests += 1
        return fetch(input as string, init as RequestInit)
      },
    })
    for (const stream of [false, true]) {
      requests = 0
      const asked = client.messages.create({
        model: 'claude',
        max_tokens: 9000,
        messages: [user('hi')] as never,
        stream,
      })
      const refused = await asked.then(
        () => null,
        (error: unknown) => error,
      )
      expect(refused).to.include({ status: 402, type: 'billing_error' })
      expect(requests).to.equal(1)
    }
  })

  it('14. the system and the marks of the cache reach Anthropic in the order and form in which they came', async () => {
    const prompt = prompted('[answer fine]')
    const mark = { type: 'ephemeral' }
    const body = {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.331; cch=00000;' },
        { type: 'text', text: 'You are Claude Code.', cache_control: { ...mark, scope: 'global' } },
        { type: 'text', text: 'Be brief.', cache_control: { ...mark, ttl: '5m' } },
      ],
      tools: [TOOL, { ...TOOL, name: 'find', cache_control: mark }],
      metadata: { user_id: '{"a": 1}' },
      messages: [
        user([
          { type: 'text', text: 'one' },
          { type: 'text', text: prompt, cache_control: mark },
        ]),
      ],
    }
    const beta = 'prompt-caching-scope-2026-01-05'
    const reply = await ask('claude', '', body, { 'anthropic-beta': beta })
    expect(reply.status, reply.text).to.equal(200)
    const sent = sentTo(prompt)
    for (const name of ['system', 'tools', 'messages', 'metadata'] as const)
      expect(JSON.stringify((sent.body as Fields)[name])).to.equal(JSON.stringify(body[name]))
    expect(sent.headers['anthropic-beta']).to.equal(beta)
    // Others get no line that is for Anthropic's books, and no marks that they do not know.
    expect((await ask('gpt', '', body, { 'anthropic-beta': beta })).status).to.equal(200)
    expect(messagesFor(prompt)[0]).to.deep.equal({ role: 'system', content: 'You are Claude Code.\n\nBe brief.' })
    expect(JSON.stringify(sentTo(prompt).body)).to.not.include('cache_control')
  })
})
