import { expect } from 'chai'
import { bytesAsJson } from '../../../src/shared/platform/json-bytes.ts'
import { cpuRatio } from '../../support/pace.ts'

const VALUES: Record<string, unknown> = {
  'no text': '',
  'quotes and backslashes': 'a "b" \\ c / d',
  'every UTF-16 unit alone': Array.from({ length: 0x10000 }, (_one, unit) => String.fromCharCode(unit)),
  'halves of pairs in any order': ['\ud83d\ude00', '\ude00\ud83d', '\ud83d\ud83d\ude00', 'a\ude00', '\ud83d'],
  'numbers that JSON has, and those that it has not': [
    0,
    -0,
    1.5e300,
    1e-7,
    Infinity,
    NaN,
    true,
    false,
    null,
    undefined,
  ],
  'fields that are undefined': { a: undefined, b: [undefined], c: {}, d: [], '"\u0001': { e: undefined, f: 'é漢' } },
}

describe('the bytes of a value as JSON', () => {
  for (const [what, value] of Object.entries(VALUES))
    it(`are those of its JSON: ${what}`, () => {
      expect(bytesAsJson(value)).to.equal(Buffer.byteLength(JSON.stringify(value)))
    })

  it('take time in proportion to the value', () => {
    const measured = (size: number) => () =>
      bytesAsJson([{ content: '\u0001😀'.repeat(size) }, ...Array.from({ length: size }, () => ({ a: 1 }))])
    expect(cpuRatio(measured(400_000), measured(100_000))).to.be.below(12)
  })
})
