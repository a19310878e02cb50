import { expect } from 'chai'
import type { ChatMessage, ChatRequest } from '../../../../src/shared/requests/requests.ts'
import { ANTHROPIC_CHAT } from '../../../../src/workers/upstreams/anthropic/chat.ts'
import { asked } from '../../../../src/workers/upstreams/protocol.ts'
import { contextOf, routeTo } from '../sandbox-upstreams.ts'
import type { RouteChanges } from '../sandbox-upstreams.ts'

const hello: ChatMessage = { role: 'user', content: 'hello' }
const text = (value: string) => ({ type: 'text', text: value })

const bodyOf = (request: Partial<ChatRequest>, changes: RouteChanges = { model: 'claude-5' }, stream = false) => {
  const context = contextOf(routeTo('anthropic', 'http://x.test', changes))
  return asked(ANTHROPIC_CHAT, { messages: [hello], max_tokens: 100, ...request }, context, stream).body
}

const turnsOf = (...messages: ChatMessage[]) => bodyOf({ messages }).messages

describe('a chat request to the Messages API', () => {
  it('has what the API requires, and nothing else', () => {
    expect(bodyOf({})).to.deep.equal({
      model: 'claude-5',
      max_tokens: 100,
      stream: false,
      messages: [hello],
    })
    expect(bodyOf({}, {}, true)).to.include({ stream: true })
    expect(
      bodyOf({ prediction: { type: 'content', content: 'x' }, modalities: ['text'], store: true }, undefined),
    ).to.have.all.keys('model', 'max_tokens', 'messages', 'stream')
  })

  it('moves system and developer messages to the top, in order', () => {
    const body = bodyOf({
      messages: [{ role: 'system', content: 'one' }, hello, { role: 'developer', content: [text('two')] }],
    })
    expect(body.system).to.deep.equal([text('one'), text('two')])
    expect(body.messages).to.deep.equal([hello])
    expect(bodyOf({ messages: [{ role: 'system', content: 'one' }, hello] }).system).to.equal('one')
    expect(bodyOf({ messages: [{ role: 'system', content: 'alone' }] })).to.deep.include({
      messages: [{ role: 'user', content: 'alone' }],
    })
  })

  it('alternates users and assistants, and omits empty texts', () => {
    expect(
      turnsOf(
        hello,
        { role: 'user', content: [text('again')] },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'third' },
      ),
    ).to.deep.equal([{ role: 'user', content: [text('hello'), text('again'), text('third')] }])
  })

  it('turns tool calls and their results into blocks, the results in one user turn', () => {
    const calls = ['a', 'b'].map((id) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: `{"x":"${id}"}` },
    }))
    expect(
      turnsOf(
        hello,
        { role: 'assistant', content: 'wait', tool_calls: calls },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        { role: 'tool', tool_call_id: 'b', content: [text('B')] },
        { role: 'user', content: 'and?' },
      ),
    ).to.deep.equal([
      hello,
      {
        role: 'assistant',
        content: [
          text('wait'),
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 'a' } },
          { type: 'tool_use', id: 'b', name: 'f', input: { x: 'b' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'A' },
          { type: 'tool_result', tool_use_id: 'b', content: 'B' },
          text('and?'),
        ],
      },
    ])
  })

  it('has of a number that would be longer than it was charged for its digits as a text', () => {
    const called = { name: 'f', arguments: '{"grows":[1e20,"1e20",1e2,1e-7,12345678901234567890]}' }
    const message = { role: 'assistant', tool_calls: [{ id: 'a', function: called }] }
    expect({ turns: turnsOf(hello, message) }).to.deep.nested.include({
      'turns[1].content[0].input.grows': ['1e20', '1e20', 100, 1e-7, '12345678901234567890'],
    })
  })

  it('has of arguments that are no object, or were cut off, what is complete', () => {
    const INPUTS: [args: string, input: object][] = [
      ['', {}],
      ['{', {}],
      ['[]', {}],
      ['"x"', {}],
      ['null', {}],
      ['{"city":"Paris","days":[1,', { city: 'Paris', days: [1] }],
    ]
    for (const [args, input] of INPUTS) {
      const message = { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] }
      expect({ turns: turnsOf(hello, message) }, args).to.deep.nested.include({ 'turns[1].content[0].input': input })
    }
  })

  it('has no text of white space alone, and none at the end of what an assistant has begun', () => {
    expect(turnsOf(hello, { role: 'assistant', content: ' \n' }, { role: 'user', content: 'y' })).to.deep.equal([
      { role: 'user', content: [text('hello'), text('y')] },
    ])
    expect({ turns: turnsOf(hello, { role: 'assistant', content: 'The answer is \n' }) }).to.deep.nested.include({
      'turns[1].content': 'The answer is',
    })
    expect(turnsOf({ role: 'user', content: ' ' })).to.deep.equal([{ role: 'user', content: '.' }])
    expect({ turns: turnsOf({ role: 'assistant', content: 'a' }) }).to.deep.nested.include({ 'turns[0].role': 'user' })
  })

  it('has ids and names of the alphabet, each result at its call', () => {
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
    const turns = turnsOf(
      hello,
      { role: 'assistant', tool_calls: [call('functions.f:0', 'a.b'), call('functions.f.0', 'a b')] },
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'x' },
      { role: 'tool', tool_call_id: 'functions.f.0', content: 'y' },
    )
    expect({ turns }).to.deep.nested.include({
      'turns[1].content[0].id': 'functions_f_0',
      'turns[1].content[0].name': 'a_b',
      'turns[1].content[1].id': 'functions_f_0_2',
      'turns[1].content[1].name': 'a_b_2',
      'turns[2].content[0].tool_use_id': 'functions_f_0',
      'turns[2].content[1].tool_use_id': 'functions_f_0_2',
    })
  })

  it('has the thoughts of a Claude as they were, in front of its calls, and none of another model', () => {
    const thought = { type: 'reasoning.text', text: 'hm', signature: 'S', format: 'anthropic-claude-v1', index: 0 }
    const turns = turnsOf(hello, {
      role: 'assistant',
      content: null,
      reasoning_details: [
        thought,
        { type: 'reasoning.encrypted', data: 'x', format: 'anthropic-claude-v1', index: 1 },
        { type: 'reasoning.text', text: 'other', format: 'unknown' },
      ],
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    })
    expect({ turns }).to.deep.nested.include({
      'turns[1].content': [
        { type: 'thinking', thinking: 'hm', signature: 'S' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
      ],
    })
  })

  it('offers only functions', () => {
    const tools = [
      { type: 'function', function: { name: 'f', description: 'd', parameters: {} } },
      { type: 'web_search_20250305', name: 'web_search' },
    ]
    expect(bodyOf({ tools }).tools).to.deep.equal([{ name: 'f', description: 'd', input_schema: { type: 'object' } }])
  })

  it('has no sampling parameter for Claude unless the route sets it, elsewhere a temperature up to 1', () => {
    const sampling = { temperature: 1.5, top_p: 0.9 }
    expect(bodyOf(sampling)).to.not.have.any.keys('temperature', 'top_p')
    expect(bodyOf(sampling, { model: 'claude-3', set: { temperature: 0.2 } })).to.include({ temperature: 0.2 })
    expect(bodyOf(sampling, { model: 'kimi-k3' })).to.include({ temperature: 1, top_p: 0.9 })
  })

  it("has no stop of white space alone, and passes the API's own fields if allowed", () => {
    expect(bodyOf({ stop: 'END' }).stop_sequences).to.deep.equal(['END'])
    expect(bodyOf({ stop: ['a', ' ', 'b'] }).stop_sequences).to.deep.equal(['a', 'b'])
    const thinking = { type: 'enabled', budget_tokens: 50 }
    expect(bodyOf({ thinking, service_tier: 'auto' }, { model: 'claude-5', allow: ['thinking'] }))
      .to.deep.include({ thinking })
      .and.not.to.have.property('service_tier')
    expect(bodyOf({ thinking })).not.to.have.property('thinking')
  })

  it('asks for reasoning by an effort, unless the route drops that', () => {
    const configOf = (reasoning_effort: string, more: object = {}, drop: string[] = []) =>
      bodyOf({ reasoning_effort, ...more }, { model: 'claude-5', drop }).output_config
    expect(configOf('high')).to.deep.equal({ effort: 'high' })
    expect(configOf('minimal')).to.deep.equal({ effort: 'low' })
    expect(configOf('none')).to.equal(undefined)
    const schema = { type: 'object', additionalProperties: false }
    const format = { type: 'json_schema', json_schema: { name: 'n', schema } }
    const both = configOf('low', { response_format: format })
    expect(both).to.deep.equal({ effort: 'low', format: { type: 'json_schema', schema } })
    const dropped = configOf('low', { response_format: format }, ['output_config.effort'])
    expect(dropped).to.deep.equal({ format: { type: 'json_schema', schema } })
    expect(configOf('low', {}, ['output_config.effort'])).to.equal(undefined)
  })

  it('has schemas for its answer that are closed, and other keywords in their descriptions', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', minLength: 2, description: 'A.', format: 'uuid' },
        b: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'object', properties: {} } },
        c: { oneOf: [{ type: 'integer', minimum: 0 }, { $ref: '#/$defs/d' }] },
      },
      $defs: { d: { type: 'object', additionalProperties: true } },
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } }
    const { format } = bodyOf({ response_format }).output_config as { format: object }
    expect(format).to.deep.equal({
      type: 'json_schema',
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          a: { type: 'string', description: 'A.\n\n{"minLength":2}', format: 'uuid' },
          b: {
            type: 'array',
            minItems: 1,
            description: '{"maxItems":3}',
            items: { type: 'object', properties: {}, additionalProperties: false },
          },
          c: { anyOf: [{ type: 'integer', description: '{"minimum":0}' }, { $ref: '#/$defs/d' }] },
        },
        $defs: { d: { type: 'object', additionalProperties: false } },
      },
    })
  })
})
