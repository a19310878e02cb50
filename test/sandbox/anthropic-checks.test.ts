import { expect } from 'chai'
import { send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { useSandbox } from './support/client.ts'
import type { Fields } from './support/client.ts'

const WEATHER = { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }
const call = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: {} })
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' })
const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const text = (words: string) => ({ type: 'text', text: words })
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }

describe('the sandbox as Anthropic', () => {
  const own = useSandbox()

  function ask(more: Fields, beta?: string, path = ''): Promise<Reply> {
    const headers = {
      'x-api-key': 'made-up',
      'anthropic-version': '2023-06-01',
      ...(beta && { 'anthropic-beta': beta }),
    }
    const body = { model: 'claude-sandbox', max_tokens: 100, messages: [user(text('hello'))], ...more }
    return send('POST', `${own.url}/anthropic/v1/messages${path}`, { body, headers })
  }

  const REFUSED: [what: string, more: Fields, message: RegExp, beta?: string][] = [
    ['an unknown field', { foo: 1 }, /^foo: Extra inputs are not permitted$/],
    ['an unknown beta', {}, /^Unexpected value\(s\) `x-1` for the `anthropic-beta` header\./, 'effort-2025-11-24, x-1'],
    [
      'a field without its beta',
      { context_management: { edits: [] } },
      /^context_management: Extra inputs are not permitted$/,
    ],
    [
      'more output than the model has',
      { max_tokens: 128_001 },
      /^max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-sandbox$/,
    ],
    [
      'a budget of thinking that is too small',
      { ...THINKING, thinking: { type: 'enabled', budget_tokens: 1023 } },
      /^thinking\.enabled\.budget_tokens: Input should be greater than or equal to 1024$/,
    ],
    ['a budget of thinking that leaves no answer', { ...THINKING, max_tokens: 1024 }, /`max_tokens` must be greater/],
    ['thinking where a tool is forced', { ...THINKING, tools: [WEATHER], tool_choice: { type: 'any' } }, /forces tool/],
    [
      'a turn of the system to an older model',
      { model: 'claude-haiku', messages: [user(text('a')), { role: 'system', content: 'b' }, user(text('c'))] },
      /^messages\.1\.role: Input should be 'user' or 'assistant'$/,
    ],
    [
      'a call without its result',
      { messages: [user(text('a')), assistant(call('one'), call('two')), user(result('one'))] },
      /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: two\./,
    ],
    [
      'a result without its call',
      { messages: [user(text('a')), assistant(text('b')), user(result('one'))] },
      /^messages\.2: unexpected `tool_use_id` found in `tool_result` blocks: one\./,
    ],
    [
      'an id of another alphabet',
      { messages: [user(text('a')), assistant(call('a.b')), user(result('a.b'))] },
      /^messages\.1\.content\.0\.tool_use\.id: String should match pattern/,
    ],
    [
      'an invented signature',
      {
        messages: [
          user(text('a')),
          assistant({ type: 'thinking', thinking: 'b', signature: 'made up' }, text('c')),
          user(text('d')),
        ],
      },
      /^messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
    ],
    [
      'a block of another role',
      { messages: [user(text('a'), call('one'))] },
      /^messages\.0\.content\.1: Input tag 'tool_use' found using 'type' does not match/,
    ],
  ]
  it('refuses what the API refuses, in its words', async () => {
    const { total } = own.billed()
    for (const [what, more, message, beta] of REFUSED) {
      const answer = await ask(more, beta)
      expect([answer.status, answer.json.error.type], what).to.deep.equal([400, 'invalid_request_error'])
      expect(answer.json.error.message, what).to.match(message)
    }
    expect(own.billed().total).to.equal(total)
  })

  it('takes back the thoughts that it signed as they were, and no changed ones', async () => {
    for (const display of ['summarized', 'omitted']) {
      const asked = { ...THINKING, thinking: { ...THINKING.thinking, display } }
      const first = user(text('[tools 2] [thoughts I wonder] [sealed-thoughts]'))
      const { content } = (await ask({ ...asked, tools: [WEATHER], messages: [first] })).json
      expect(content.map(({ type }: Fields) => type)).to.deep.equal(
        'thinking redacted_thinking tool_use tool_use'.split(' '),
      )
      const [thought, sealed, ...calls] = content as Fields[]
      expect(thought!['thinking']).to.equal(display === 'omitted' ? '' : 'I wonder')
      const next = (...said: unknown[]) =>
        ask({ messages: [first, assistant(...said, ...calls), user(...calls.map(({ id }) => result(id)))] })
      expect((await next(thought, sealed)).status).to.equal(200)
      expect((await next(sealed)).status).to.equal(200)
      expect((await next({ ...thought, thinking: 'I ponder' })).status).to.equal(400)
      expect((await next({ ...sealed, data: `${sealed!['data']}AAAA` })).status).to.equal(400)
    }
  })

  it('takes a turn of the system in the middle, and the betas that it knows', async () => {
    const messages = [user(text('a')), { role: 'system', content: 'b' }, user(text('c'))]
    const betas = 'context-management-2025-06-27,claude-code-20250219'
    expect((await ask({ messages, context_management: { edits: [] } }, betas)).status).to.equal(200)
  })

  it('counts the tokens of a message as its usage does, and bills nothing', async () => {
    const asked = { system: 'Be kind.', tools: [WEATHER], messages: [user(text('one two three four five'))] }
    const { usage } = (await ask(asked)).json
    const billed = own.billed().total
    const counted = await ask({ ...asked, max_tokens: undefined }, undefined, '/count_tokens')
    expect(counted.json).to.deep.equal({ input_tokens: usage.input_tokens })
    expect((await ask(asked, undefined, '/count_tokens')).json.error.message).to.match(/^max_tokens: Extra inputs/)
    expect(own.billed().total).to.equal(billed)
  })
})
