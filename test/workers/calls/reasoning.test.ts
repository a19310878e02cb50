import { expect } from 'chai'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { asksForReasoning } from '../../../src/workers/calls/reasoning.ts'

describe('a chat asks for reasoning', () => {
  const asks = (dialect: Dialect | undefined, fields: object, set: object = {}) =>
    asksForReasoning({ messages: [], max_tokens: 10, ...fields }, dialect, { set: set as Record<string, unknown> })

  const ASKING: [Dialect | undefined, object][] = [
    [undefined, { reasoning_effort: 'low' }],
    ['chat', { thinking: { type: 'enabled' } }],
    ['chat', { reasoning: { max_tokens: 100 } }],
    ['chat', { enable_thinking: true }],
    ['messages', { output_config: { effort: 'low' } }],
    ['messages', { thinking: { type: 'adaptive' } }],
  ]
  for (const [dialect, fields] of ASKING)
    it(`by the fields of its dialect: ${dialect ?? 'none named'} ${JSON.stringify(fields)}`, () => {
      expect(asks(dialect, fields)).to.equal(true)
    })

  const SILENT: [Dialect, object][] = [
    ['chat', { reasoning_effort: 'none', thinking: null, reasoning: { enabled: false }, enable_thinking: false }],
    ['chat', { reasoning: { effort: 'none' }, thinking: { type: 'disabled' } }],
    ['messages', { output_config: { format: { type: 'json_schema', schema: {} } }, thinking: { type: 'disabled' } }],
    ['messages', {}],
  ]
  for (const [dialect, fields] of SILENT)
    it(`not by others: ${dialect} ${JSON.stringify(fields)}`, () => {
      expect(asks(dialect, fields)).to.equal(false)
    })

  it('by what the catalogue sets, in the words of its upstream, which go before those of the client', () => {
    expect(asks('messages', {}, { reasoning_effort: 'high' })).to.equal(true)
    expect(asks('chat', {}, { output_config: { effort: 'high' } })).to.equal(true)
    expect(asks('chat', { reasoning_effort: 'high' }, { reasoning_effort: 'none' })).to.equal(false)
  })
})
