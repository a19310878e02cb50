import { expect } from 'chai'
import { jsonBytes } from '../../../src/shared/platform/json-bytes.ts'

describe('the bytes of a text as JSON', () => {
  for (const [what, text] of [
    ['nothing', ''],
    ['words', 'a "b" \\ c'],
    ['control characters', '\u0001'.repeat(200_000)],
    ['characters of other scripts', '漢字'.repeat(50_000)],
  ] as const)
    it(`are those of its JSON without the quotes: ${what}`, () => {
      expect(jsonBytes(text)).to.equal(Buffer.byteLength(JSON.stringify(text)) - 2)
    })

  it('are never fewer where a piece ends within a character', () => {
    const text = `a${'😀'.repeat(100_000)}`
    const exact = Buffer.byteLength(JSON.stringify(text)) - 2
    expect(jsonBytes(text)).to.be.within(exact, exact + 100)
  })
})
