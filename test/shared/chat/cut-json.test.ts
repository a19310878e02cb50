import { expect } from 'chai'
import fc from 'fast-check'
import { readCut } from '../../../src/shared/chat/cut-json.ts'

const ANSWER = {
  id: 'x',
  n: 12.5,
  ok: true,
  none: null,
  choices: [{ index: 0, message: { role: 'assistant', content: 'He said "no" \\ and\nleft: äöü 😀' } }, { index: 1 }],
}

describe('JSON that was cut off', () => {
  it('has the unfinished text and everything complete', () => {
    expect(readCut('{"a":{"text":"Hello wor')).to.deep.equal({ a: { text: 'Hello wor' } })
    expect(readCut('{"a":[1,2,{"b":tr')).to.deep.equal({ a: [1, 2, {}] })
    expect(readCut('{"a":1,"b')).to.deep.equal({ a: 1 })
    expect(readCut('{"a":1,"b":')).to.deep.equal({ a: 1 })
    expect(readCut('{"a":12')).to.deep.equal({})
    expect(readCut('{"a":"x\\')).to.deep.equal({ a: 'x' })
    expect(readCut('{"a":"x\\\\')).to.deep.equal({ a: 'x\\' })
    expect(readCut('{"a":"x\\u00e')).to.deep.equal({ a: 'x' })
  })

  it('is nothing if it is not an object', () => {
    for (const text of ['', 'x', '[1', '"abc', '<html>', '['.repeat(100_000), '{"a":"\\x'])
      expect(readCut(text), text.slice(0, 20)).to.deep.equal({})
  })

  it('can be read wherever it was cut, and has nothing that it did not contain', () => {
    const text = JSON.stringify(ANSWER)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: text.length }), fc.constantFrom(0, 2), (length, indent) => {
        const cut = JSON.stringify(ANSWER, null, indent).slice(0, length)
        const said = readCut(cut) as Partial<typeof ANSWER>
        const content = said.choices?.[0]?.message?.content ?? ''
        return (
          ANSWER.choices[0]!.message!.content.startsWith(content) && Object.keys(said).every((name) => name in ANSWER)
        )
      }),
    )
    expect(readCut(text)).to.deep.equal(ANSWER)
  })
})
