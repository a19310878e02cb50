import { expect } from 'chai'
import { dialectOf } from '../../../../src/shared/chat/dialect.ts'
import { estimateMessages } from '../../../../src/shared/chat/messages/estimate.ts'
import type { CountingRules } from '../../../../src/shared/terms/pricing.ts'
import { mostInput } from '../../../../src/shared/terms/pricing.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'

const LONG = 'word '.repeat(6000)

const asked = (block: object, more: object = {}) => ({
  messages: [{ role: 'user', content: [block] }],
  max_tokens: 7,
  ...more,
})
const documentOf = (source: object): object => ({ type: 'document', source })
const tokensOfJson = (value: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3)

describe('the estimate of a message', () => {
  const held = (request: ReturnType<typeof asked>, rules: CountingRules = {}) => estimateMessages(request, rules)

  it('counts a third of the bytes of its whole body, and its limit', () => {
    const request = asked({ type: 'text', text: LONG }, { system: LONG, metadata: { user_id: LONG } })
    expect(held(request)).to.deep.equal({ input: tokensOfJson(request), output: 7 })
  })

  it('adds 1,500 tokens where there are tools', () => {
    const request = asked({ type: 'text', text: 'a' }, { tools: [{ name: 'a', input_schema: {} }] })
    expect(held(request).input).to.equal(tokensOfJson(request) + 1500)
    expect(held({ ...request, tools: [] } as typeof request).input).to.be.below(100)
  })

  it('is turned into a token a byte, and what has a number of its own counts for that', () => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }
    const request = asked(picture, { tools: [{ name: 'a', input_schema: {} }] }) as ChatRequest
    const bytes = Buffer.byteLength(JSON.stringify(request))
    for (const bytesPerToken of [1, 2, 3]) {
      const rules = { bytesPerToken, partTokens: { image: 700 } }
      const fixed = dialectOf('messages').fixedTokens(request, rules)
      expect(fixed).to.equal(2200)
      const most = mostInput(estimateMessages(request, rules).input, fixed, rules)
      expect(most).to.be.within(bytes + fixed, bytes + fixed + bytesPerToken - 1)
    }
  })

  const documents: [what: string, source: object][] = [
    ['of text', { type: 'text', media_type: 'text/plain', data: LONG }],
    ['of blocks', { type: 'content', content: [{ type: 'text', text: LONG }] }],
    ['of bytes', { type: 'base64', media_type: 'text/csv', data: LONG }],
  ]
  for (const [what, source] of documents)
    it(`counts a document ${what} by its bytes, also in a result of a tool`, () => {
      const document = documentOf(source)
      for (const block of [document, { type: 'tool_result', tool_use_id: 'a', content: [document] }])
        expect(held(asked(block)).input).to.equal(tokensOfJson(asked(block)))
    })

  it('counts a document of bytes by its number where the model has one', () => {
    const [, , [, source]] = documents as [unknown, unknown, [string, object]]
    const without = asked(documentOf({ ...source, data: '' }))
    expect(held(asked(documentOf(source)), { partTokens: { document: 700 } }).input).to.equal(
      tokensOfJson(without) + 700,
    )
  })

  it('counts a picture by its number wherever it stands, and not its bytes', () => {
    const picture = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })
    const places = [
      (image: object) => image,
      (image: object) => ({ type: 'tool_result', tool_use_id: 'a', content: [image] }),
      (image: object) => documentOf({ type: 'content', content: [image] }),
    ]
    for (const at of places) {
      const empty = asked(at(picture('')))
      expect(held(asked(at(picture(LONG)))).input).to.equal(tokensOfJson(empty) + 1500)
      expect(held(asked(at(picture(LONG))), { partTokens: { image: 9 } }).input).to.equal(tokensOfJson(empty) + 9)
    }
  })
})
