import { expect } from 'chai'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { candidateOf, partsOfCandidate } from '../../../src/shared/chat/gemini/join-frames.ts'
import { listOf } from '../../../src/shared/platform/fields.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { Protocol } from './translated.ts'
import { ask } from './translated.ts'

const chunk = (delta: Fields, finish_reason: string | null = null) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason }],
})
const calling = (id: string, name: string, more: Fields = {}) => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '{}' }, ...more }],
})
const HELLO = [{ role: 'user', content: 'hello' }]
const tool = (name: string) => ({ name, input_schema: { type: 'object' } })

describe('stop sequences that an upstream does not apply', () => {
  const CASES: [stops: string[], deltas: string[], text: string, met: string | null][] = [
    [['END'], ['one E', 'ND two'], 'one ', 'END'],
    [['END'], ['one E', 'N two'], 'one EN two', null],
    [['END'], ['one EN'], 'one EN', null],
    [['b', 'ab'], ['xaby'], 'x', 'ab'],
    [['</x>', '\n\n'], ['a\n', '\nb</x>'], 'a', '\n\n'],
    [['a'], ['a'], '', 'a'],
    [[' '], ['one two'], 'one', ' '],
  ]
  for (const [stops, deltas, text, met] of CASES) {
    it(`end a text in front of them: ${JSON.stringify([stops, deltas])}`, async () => {
      // The first four are applied by the upstream.
      const all = ['#1', '#2', '#3', '#4', ...stops]
      const { body, answer, translation } = ask('messages', { messages: HELLO, stop_sequences: all }, 'openai')
      expect(body.stop).to.deep.equal(all.slice(0, 4))
      const message = await answer(...deltas.map((content) => chunk({ content })), chunk({}, 'stop'))
      expect((message.content as Fields[]).map((block) => block.text).join('')).to.equal(text)
      expect(message.stop_reason).to.equal(met === null ? 'end_turn' : 'stop_sequence')
      expect(message.stop_sequence).to.equal(met)
      expect(translation.isCut).to.equal(met !== null)
    })
  }

  it('are not looked for in thoughts and in the arguments of tools', async () => {
    const { answer } = ask('messages', { messages: HELLO, tools: [tool('f')], stop_sequences: ['END'] }, 'responses')
    const item = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":"END"}' }
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'END' }] }
    const response = { status: 'completed', output: [thought, item] }
    const message = await answer({ type: 'response.completed', response })
    expect(message.stop_reason).to.equal('tool_use')
    expect((message.content as Fields[]).at(-1)!.input).to.deep.equal({ a: 'END' })
  })
})

describe('a request that is translated', () => {
  it('has names of tools of at most 64 characters, which come back whole', async () => {
    const name = `mcp__${'long'.repeat(25)}`
    const messages = [...HELLO, { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name, input: {} }] }]
    for (const protocol of ['openai', 'responses'] as const) {
      const choice = { type: 'tool', name }
      const { body } = ask('messages', { messages, tools: [tool(name)], tool_choice: choice }, protocol)
      expect(JSON.stringify(body)).to.not.include(name)
    }
    const { body, answer } = ask('messages', { messages, tools: [tool(name)] }, 'openai')
    const sent = ((body.tools as Fields[])[0]!.function as Fields).name as string
    expect(sent).to.have.length(64)
    const message = await answer(chunk(calling('d', sent)), chunk({}, 'tool_calls'))
    expect(message.content).to.deep.equal([{ type: 'tool_use', id: 'd', name, input: {} }])
  })

  const NAME = `mcp__${'long'.repeat(25)}`
  const schema = { type: 'object', properties: { name: { type: 'string', default: NAME } } }
  const call = { id: 'c', type: 'function', function: { name: NAME, arguments: '{}' } }
  const named = { name: NAME, parameters: schema }
  const item = { type: 'function_call', call_id: 'c', name: NAME, arguments: '{}' }
  const OWN: [what: string, dialect: Dialect, protocol: Protocol, fields: Fields, names: number][] = [
    [
      'tools',
      'chat',
      'openai',
      {
        messages: [...HELLO, { role: 'assistant', content: null, tool_calls: [call] }],
        tools: [
          { type: 'function', function: named },
          { type: 'custom', custom: { name: NAME } },
        ],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ function: { name: NAME } }] } },
      },
      4,
    ],
    [
      'functions',
      'chat',
      'openai',
      {
        messages: [
          { role: 'user', name: NAME, content: 'x' },
          { role: 'assistant', content: null, function_call: { name: NAME, arguments: '{}' } },
          { role: 'function', name: NAME, content: 'x' },
        ],
        functions: [named],
        function_call: { name: NAME },
      },
      4,
    ],
    [
      'tools',
      'responses',
      'responses',
      {
        input: [item, { type: 'additional_tools', tools: [{ type: 'function', ...named }] }],
        tools: [
          { type: 'function', ...named },
          { type: 'namespace', name: 'n', tools: [{ type: 'function', ...named }] },
        ],
        tool_choice: { type: 'function', name: NAME },
      },
      5,
    ],
  ]
  for (const [what, dialect, protocol, fields, count] of OWN) {
    it(`has short names of ${what} in its own dialect, which come back whole: ${dialect}`, async () => {
      const { body, answer } = ask(dialect, fields, protocol)
      const sent = [...JSON.stringify(body).matchAll(/"name":"(mcp__\w+?_[0-9a-f]{8})"/g)].map(([, name]) => name!)
      expect(new Set(sent).size, JSON.stringify(body)).to.equal(1)
      expect(sent).to.have.length(count)
      expect(sent[0]).to.have.length(64)
      const output = [{ ...item, name: sent[0] }]
      const said =
        dialect === 'responses'
          ? await answer({ type: 'response.completed', response: { status: 'completed', output } })
          : await answer(chunk(calling('d', sent[0]!)), chunk({}, 'tool_calls'))
      expect(JSON.stringify(said)).to.include(`"name":"${NAME}"`).and.not.to.include(sent[0])
    })
  }

  it('has ids of calls that are short enough and differ, each result at its call', () => {
    const long = `call_${'x'.repeat(120)}`
    const turn = (id: string) => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: id }] },
    ]
    const messages = [...HELLO, ...turn('call_0'), ...turn('call_0'), ...turn(long)]
    const chat = ask('messages', { messages }, 'openai').body.messages as Fields[]
    const called = chat.flatMap(({ tool_calls: calls }) => ((calls ?? []) as Fields[]).map(({ id }) => String(id)))
    expect(chat.flatMap(({ tool_call_id: id }) => id ?? [])).to.deep.equal(called)
    expect(new Set(called).size).to.equal(3)
    expect(Math.max(...called.map((id) => id.length))).to.equal(40)
    const own = ask(
      'chat',
      { messages: chat.map((one) => JSON.parse(JSON.stringify(one).replaceAll('_2"', '"'))) },
      'openai',
    )
    expect(JSON.stringify(own.body.messages)).to.equal(JSON.stringify(chat))
    const items = ask('messages', { messages }, 'responses').body.input as Fields[]
    const ids = items.flatMap(({ call_id: id }) => (typeof id === 'string' ? [id] : []))
    expect(ids.filter((_id, at) => at % 2 === 0)).to.deep.equal(ids.filter((_id, at) => at % 2 === 1))
    expect(Math.max(...ids.map((id) => id.length))).to.equal(64)
  })

  it('is answered with ids that no earlier call has', async () => {
    const messages = [
      ...HELLO,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'f', input: {} }] },
    ]
    const { answer } = ask('messages', { messages, tools: [tool('f')] }, 'openai')
    const message = await answer(chunk(calling('call_0', 'f')), chunk({}, 'tool_calls'))
    expect((message.content as Fields[])[0]!.id).to.match(/^call_[0-9a-f]{32}$/)
  })

  it('reports no more output than a limit below the smallest that is sent', () => {
    const { translation } = ask('messages', { messages: HELLO, max_tokens: 9 }, 'responses')
    const usage = { input_tokens: 5, output_tokens: 16, total_tokens: 21 }
    expect(translation.usageIn({ response: { usage } })).to.include({ input: 5, output: 9, total: 14 })
  })

  it('is answered in a chat with a blank line between messages, and for the reason OpenAI would name', async () => {
    const said = (text: string) => ({ type: 'message', content: [{ type: 'output_text', text }] })
    const refused = { type: 'message', content: [{ type: 'refusal', refusal: 'no' }] }
    const REASONS: [protocol: Protocol, sent: Fields[], finish: string, content: string | null][] = [
      ['responses', [{ output: [said('First.'), said('Second.')] }], 'stop', 'First.\n\nSecond.'],
      ['responses', [{ output: [refused] }], 'content_filter', null],
      ['openai', [chunk({ content: 'a' }, 'MAX_TOKENS')], 'length', 'a'],
      ['openai', [chunk({ content: 'a' }, 'eos')], 'stop', 'a'],
      ['openai', [chunk(calling('c', 'f'), 'STOP')], 'tool_calls', null],
    ]
    for (const [protocol, sent, finish, content] of REASONS) {
      const events = sent.map((one) =>
        protocol === 'responses' ? { type: 'response.completed', response: { status: 'completed', ...one } } : one,
      )
      const { choices } = await ask('chat', { messages: HELLO }, protocol).answer(...events)
      expect((choices as Fields[])[0]).to.deep.nested.include({ finish_reason: finish })
      expect(((choices as Fields[])[0]!.message as Fields).content || null).to.equal(content)
    }
  })

  it('is answered with a function_call where it has the functions of older clients', async () => {
    const functions = [{ name: 'look', parameters: { type: 'object' } }]
    const { answer } = ask('chat', { messages: HELLO, functions }, 'anthropic')
    const block = { type: 'tool_use', id: 't', name: 'look', input: { a: 1 } }
    const { choices } = await answer({ type: 'message', id: 'm', content: [block], stop_reason: 'tool_use' })
    expect((choices as Fields[])[0]).to.deep.include({ finish_reason: 'function_call' })
    expect((choices as Fields[])[0]!.message).to.deep.include({
      function_call: { name: 'look', arguments: '{"a":1}' },
    })
  })
})

describe('what a model wants back with its thoughts and calls', () => {
  const GOOGLE = { extra_content: { google: { thought_signature: 'SIG' } } }
  const details = [
    { type: 'reasoning.text', text: 'hm', signature: 'S1', format: 'google-gemini-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'D1', format: 'openai-responses-v1', id: 'rs_1', index: 1 },
    { type: 'reasoning.encrypted', data: 'D2', format: 'google-gemini-v1', id: 'c1', index: 2 },
  ]
  const answers: [name: string, protocol: Protocol, delta: Fields, back: Fields][] = [
    [
      "Gemini's signature of a call",
      'openai',
      calling('c1', 'f', GOOGLE),
      { tool_calls: [{ ...calling('c1', 'f', GOOGLE).tool_calls[0], index: undefined }] },
    ],
    [
      'details of every format',
      'openrouter',
      { reasoning_details: details, ...calling('c1', 'f') },
      { reasoning_details: details },
    ],
  ]
  for (const [name, protocol, delta, back] of answers) {
    for (const dialect of ['messages', 'responses', 'gemini'] as const) {
      it(`is ${name}, through clients of ${dialect} to the route that made it alone`, async () => {
        const asked = { role: 'user', parts: [{ text: 'hello' }] }
        const first = {
          messages: { messages: HELLO, tools: [tool('f')] },
          responses: { input: 'hello', tools: [{ type: 'function', name: 'f', parameters: {} }] },
          gemini: { contents: [asked], tools: [{ functionDeclarations: [{ name: 'f' }] }] },
        }[dialect]
        const answer = await ask(dialect, first, protocol).answer(chunk(delta), chunk({}, 'tool_calls'))
        const text = JSON.stringify(answer)
        for (const secret of ['SIG', 'S1', 'D1', 'D2']) expect(text).to.not.include(`"${secret}"`)
        // Many clients of Gemini drop the thoughts, and keep the signatures of other parts.
        const parts = partsOfCandidate(candidateOf(answer)).filter(({ thought }) => thought !== true)
        const next = {
          messages: { messages: [...HELLO, { role: 'assistant', content: answer.content }] },
          responses: { input: [{ type: 'message', role: 'user', content: 'hello' }, ...listOf(answer.output)] },
          gemini: { contents: [asked, { role: 'model', parts }] },
        }[dialect]
        const [, turn] = ask(dialect, next, protocol).body.messages as Fields[]
        expect(JSON.parse(JSON.stringify(turn))).to.deep.include(JSON.parse(JSON.stringify(back)))
        const [, elsewhere] = ask(dialect, next, protocol, 'b').body.messages as Fields[]
        expect(elsewhere).to.not.have.property('reasoning_details')
        expect(JSON.stringify(elsewhere)).to.not.include('extra_content')
        if (dialect === 'messages')
          expect(JSON.stringify(ask(dialect, next, 'anthropic').body)).to.not.include('tollgate1.')
      })
    }
  }
})
