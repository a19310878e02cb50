import { expect } from 'chai'
import { requestHash } from '../../../../src/api/v1/calls/joined-calls.ts'
import { checkMessages } from '../../../../src/shared/chat/messages/check.ts'
import { checkResponses } from '../../../../src/shared/chat/responses/check.ts'
import { ApiError } from '../../../../src/shared/platform/errors.ts'
import { imageUrlProblem } from '../../../../src/shared/requests/addresses.ts'
import { cpuRatio } from '../../../support/pace.ts'

const model = { partTokens: {}, upstreams: [{ allow: [] }] }
const messages = (more: object) => () =>
  checkMessages({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'a' }], ...more }, model)
const responses = (more: object) => () => checkResponses({ model: 'm', input: 'a', ...more }, model)

const listOf = <T>(length: number, one: (at: number) => T): T[] => Array.from({ length }, (_one, at) => one(at))
/** More than any list may have. */
const MANY = 50_000

const text = { type: 'text', text: 'a' }
const item = { role: 'user', content: listOf(10, () => ({ type: 'input_text', text: 'a' })) }
const results = (size: number) => [{ type: 'tool_result', tool_use_id: 'a', content: listOf(size, () => text) }]
const ones = (size: number) => listOf(size, () => 1)

/** Bodies with so many faults, or so much of what is bounded. */
const REFUSED: Record<string, (size: number) => () => unknown> = {
  'blocks of a system': (size) => messages({ system: ones(size) }),
  'stop sequences': (size) => messages({ stop_sequences: ones(size) }),
  'callers of a tool': (size) => messages({ tools: [{ name: 'a', input_schema: {}, allowed_callers: ones(size) }] }),
  'blocks of all turns': (size) =>
    messages({ messages: listOf(size / 10, () => ({ role: 'user', content: listOf(10, () => text) })) }),
  'blocks in results of tools': (size) =>
    messages({ messages: listOf(4, () => ({ role: 'user', content: results(size / 4) })) }),
  'parts of a summary': (size) => responses({ input: [{ type: 'reasoning', summary: ones(size) }] }),
  'fields to include': (size) => responses({ include: ones(size) }),
  'keys of metadata': (size) => responses({ metadata: Object.fromEntries(listOf(size, (at) => [`key${at}`, at])) }),
  'parts of all items': (size) => responses({ input: listOf(size / 10, () => item) }),
}

describe('a list of a body that is longer than any request needs', () => {
  for (const [what, refusing] of Object.entries(REFUSED))
    it(`is refused without a look at all of it: ${what}`, () => {
      const refused = refusing(MANY)
      expect(refused).to.throw(ApiError)
      const walk = () => listOf(MANY, (at) => ({ at })).flatMap(({ at }) => [at]).length
      expect(cpuRatio(() => expect(refused).to.throw(ApiError), walk, 3)).to.be.below(10)
    })

  it('is taken where a long session needs it', () => {
    const turns = listOf(20_000, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: [text, text] }))
    expect(messages({ messages: turns })()).to.have.property('request')
  })
})

describe('a long text in the place of an address', () => {
  it('is refused by its length, before anything is made of it', () => {
    const url = `http://a.example/${'😀'.repeat(1_000_000)}`
    expect(imageUrlProblem(url)).to.match(/2,048 characters/)
    expect(imageUrlProblem(`http://a.example/${'😀'.repeat(2031)}`)).to.not.match(/2,048 characters/)
    expect(imageUrlProblem(`http://a.example/${'😀'.repeat(2032)}`)).to.match(/2,048 characters/)
    const measuring = () => Array.from(url).length
    expect(cpuRatio(() => imageUrlProblem(url), measuring)).to.be.below(0.5)
  })
})

describe('the hash of a large body', () => {
  it('takes time in proportion to its fields, and is that of the same fields in another order', () => {
    const fields = (size: number) => listOf(size, (at) => [`key${at}`, { at, of: [at] }] as const)
    const body = (size: number) => Object.fromEntries(fields(size))
    expect(requestHash('chat', body(1000))).to.equal(requestHash('chat', Object.fromEntries(fields(1000).toReversed())))
    const [small, large] = [body(5000), body(20_000)]
    const hashing = (one: Record<string, unknown>) => () => requestHash('chat', one)
    expect(cpuRatio(hashing(large), hashing(small), 3)).to.be.below(10)
  })
})
