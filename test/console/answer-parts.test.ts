import { expect } from 'chai'
import { answerParts } from '../../src/console/api/answer-parts.ts'

describe('what the console reads of stored answers', () => {
  const said = [
    { is: 'thinking', text: 'hm' },
    { is: 'text', text: 'Rain.' },
    { is: 'tool', name: 'look', input: '{\n  "at": "sky"\n}' },
  ]

  it('is the same in every dialect: thoughts, texts and the tools to call', () => {
    const input = { at: 'sky' }
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: JSON.stringify(input, null, 2) } }
    for (const thoughts of [{ reasoning_content: 'hm' }, { reasoning: 'hm' }])
      for (const content of ['Rain.', [{ type: 'text', text: 'Rain.' }]])
        expect(
          answerParts('chat', {
            choices: [{ message: { role: 'assistant', content, ...thoughts, tool_calls: [call] } }],
          }),
        ).to.deep.equal(said)
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'Rain.' },
      { type: 'tool_use', id: 'a', name: 'look', input },
    ]
    expect(answerParts('messages', { content })).to.deep.equal(said)
  })

  it('is a refusal too, and a block that it does not know', () => {
    expect(answerParts('chat', { choices: [{ message: { content: null, refusal: 'No.' } }] })).to.deep.equal([
      { is: 'text', text: 'No.' },
    ])
    const hidden = { type: 'redacted_thinking', data: 'x' }
    const odd = { type: 'web_search_tool_result', tool_use_id: 'b' }
    expect(answerParts('messages', { content: [hidden, odd] })).to.deep.equal([
      { is: 'thinking', text: 'Encrypted by the provider.' },
      { is: 'tool', name: 'web_search_tool_result', input: '{\n  "tool_use_id": "b"\n}' },
    ])
  })

  it('is nothing of what has no answer in it', () => {
    for (const answer of [{}, { choices: null, content: 'x' }, { choices: [null, {}], content: [null, 1] }]) {
      expect(answerParts('chat', answer)).to.deep.equal([])
      expect(answerParts('messages', answer)).to.deep.equal([])
    }
  })
})
