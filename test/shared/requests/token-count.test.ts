import { expect } from 'chai'
import { countOutput } from '../../../src/shared/requests/token-count.ts'

const answering = (message: object): object[] => [
  { index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: 'stop' },
]

describe("the gateway's own count of an answer", () => {
  it('is a third of the bytes of its words, not of the JSON around them', () => {
    expect(countOutput(answering({ content: 'Hello from the mock upstream.' }))).to.equal(10)
    expect(countOutput(answering({ content: 'Grüße, 你好' }))).to.equal(Math.ceil(Buffer.byteLength('Grüße, 你好') / 3))
    expect(
      countOutput(
        answering({
          content: [
            { type: 'text', text: 'abc' },
            { type: 'text', text: 'def' },
          ],
        }),
      ),
    ).to.equal(2)
  })

  it('counts reasoning once, even if it is repeated, and tool calls by name and arguments', () => {
    expect(countOutput(answering({ content: 'abc', reasoning: 'abcdef', reasoning_content: 'abcdef' }))).to.equal(3)
    const called = { name: 'now', arguments: '{"a":1}' }
    expect(
      countOutput(
        answering({ content: null, tool_calls: [{ id: 'call_1234567', type: 'function', function: called }] }),
      ),
    ).to.equal(4)
    expect(countOutput(answering({ content: null, function_call: called }))).to.equal(4)
    expect(countOutput(answering({ content: null, refusal: 'no.' }))).to.equal(1)
  })

  it('adds up every choice, and counts nothing else as words', () => {
    expect(countOutput([...answering({ content: 'abc' }), ...answering({ content: 'def' })])).to.equal(2)
    expect(countOutput([null, 7, {}, { message: 'x' }, { message: { content: 7, tool_calls: [null, 'x'] } }])).to.equal(
      0,
    )
  })
})
