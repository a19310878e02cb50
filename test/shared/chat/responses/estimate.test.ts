import { expect } from 'chai'
import { estimateResponses } from '../../../../src/shared/chat/responses/estimate.ts'

const LONG = 'QUFB'.repeat(30_000)
const PRICED = { partTokens: { document: 700 } }

const asked = (part: object, type = 'message') => ({
  model: 'm',
  messages: [],
  max_tokens: 100,
  input: [{ type, role: 'user', content: [part] }],
})
const held = (part: object, type?: string): number => estimateResponses(asked(part, type), PRICED).input
const file = (data: string, more: object = {}) => ({ type: 'input_file', file_data: `data:${data}`, ...more })

describe('the estimate of a response', () => {
  it('counts a text in a file by its bytes too where its model has a number for documents', () => {
    const ways = [{}, { file_url: 'https://example.com/a.pdf' }]
    for (const more of ways) expect(held(file(`text/plain;base64,${LONG}`, more))).to.be.above(LONG.length / 3)
  })

  for (const [what, data, words] of [
    ['control characters', `text/plain;base64,${Buffer.alloc(3000, 1).toString('base64')}`, '\u0001'.repeat(3000)],
    ['escapes in the address', `text/plain,${'%01'.repeat(3000)}`, '\u0001'.repeat(3000)],
  ] as const)
    it(`counts a file of ${what} by the words that other upstreams are sent, which are longer`, () => {
      const written = estimateResponses(asked({ type: 'input_text', text: words }), {}).input
      expect(estimateResponses(asked(file(data)), {}).input).to.be.at.least(written)
    })

  it('counts any other file by that number', () => {
    expect(held(file(`text/plain;base64,${Buffer.alloc(3000, 255).toString('base64')}`))).to.be.within(700, 800)
    expect(held(file(`application/pdf;base64,${LONG}`))).to.be.within(700, 800)
  })

  it('counts what looks like a picture in an item that only its vendor knows as the text that it may be', () => {
    const picture = { type: 'input_image', image_url: `data:image/png;base64,${LONG}` }
    expect(held(picture)).to.be.within(1500, 1600)
    expect(held(picture, 'web_search_call')).to.be.above(LONG.length / 3)
  })
})
