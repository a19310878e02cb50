import { expect } from 'chai'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { ask } from './translated.ts'

const REFUSED = {
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: 'cyber', explanation: 'Not this.' },
}
const begun = { type: 'message', id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } }
const WELL = { type: 'text', text: 'Well' }

/** How a Claude refuses: what it sends, what it has written before, and how it explains that. */
const REFUSALS: [how: string, sent: Fields[], text: string, refusal: string][] = [
  ['whole', [{ ...begun, ...REFUSED }], '', 'Not this.'],
  ['without a reason', [{ ...begun, stop_reason: 'refusal' }], '', 'The model refused to answer.'],
  [
    'in the middle of a stream',
    [
      { type: 'message_start', message: begun },
      { type: 'content_block_start', index: 0, content_block: WELL },
      { type: 'message_delta', delta: REFUSED, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
    'Well',
    'Not this.',
  ],
]

describe("a Claude's refusal", () => {
  for (const [how, sent, text, refusal] of REFUSALS) {
    it(`is a part of a response, and content_filter in a chat: ${how}`, async () => {
      const response = await ask('responses', { input: 'hello' }, 'anthropic').answer(...sent)
      expect(response).to.include({ status: 'completed', incomplete_details: null })
      const parts = (response.output as { content: Fields[] }[]).flatMap(({ content }) => content)
      expect(parts.at(-1)).to.deep.equal({ type: 'refusal', refusal })
      expect(parts.slice(0, -1).map((part) => part.text)).to.deep.equal(text === '' ? [] : [text])
      const chat = await ask('chat', { messages: [{ role: 'user', content: 'hello' }] }, 'anthropic').answer(...sent)
      const [choice] = chat.choices as { message: Fields; finish_reason: string }[]
      expect(choice!.finish_reason).to.equal('content_filter')
      expect(choice!.message).to.include({ content: text, refusal })
    })
  }

  it('is not one of a filter of the upstream, which ends a response as incomplete', async () => {
    const filtered = { id: 'c', choices: [{ index: 0, delta: { content: 'We' }, finish_reason: 'content_filter' }] }
    const response = await ask('responses', { input: 'hello' }, 'openai').answer(filtered)
    expect(response).to.deep.include({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } })
  })
})

describe("a Claude's message that came whole, and ran into its limit,", () => {
  const use = (input: Fields) => ({ type: 'tool_use', id: 't', name: 'f', input })
  const CONTENTS: [content: Fields[], statuses: string[]][] = [
    [[use({ a: 'b' })], ['incomplete']],
    [
      [use({ a: 'b' }), { ...use({ a: 'c' }), id: 'u' }],
      ['completed', 'incomplete'],
    ],
    [
      [use({ a: 'b' }), WELL],
      ['completed', 'incomplete'],
    ],
  ]
  for (const [content, statuses] of CONTENTS) {
    it(`ends with an incomplete item, whose input is an object all the same: ${statuses.join()}`, async () => {
      const message = { ...begun, content, stop_reason: 'max_tokens' }
      const tools = [{ type: 'function', name: 'f' }]
      const { output } = await ask('responses', { input: 'hello', tools }, 'anthropic').answer(message)
      const items = output as { status: string; output_index: number }[]
      expect(items.map(({ status }) => status).toSorted()).to.deep.equal(statuses.toSorted())
      expect(items.at(-1)!.status).to.equal('incomplete')
    })
  }
})
