import { expect } from 'chai'
import fc from 'fast-check'
import { vectorOf, vectorText } from '../../../src/workers/upstreams/vectors.ts'

const vectors = fc.float32Array({ minLength: 1, noNaN: true, noDefaultInfinity: true })
const unit = fc.float32Array({ minLength: 1, min: -1, max: 1, noNaN: true })
const numbersOf = (vector: Float32Array | null): number[] => Array.from(vector ?? [], (one) => one + 0)

describe('a vector', () => {
  it('is the same one, to the last bit, in whichever form it is written and read', () => {
    fc.assert(
      fc.property(vectors, fc.constantFrom('float' as const, 'base64' as const), (vector, format) => {
        expect(numbersOf(vectorOf(JSON.parse(vectorText(vector, format))))).to.deep.equal(numbersOf(vector))
      }),
    )
  })

  it('is little-endian in base64, as clients decode it', () => {
    expect(vectorText(Float32Array.of(1, -2), 'base64')).to.equal('"AACAPwAAAMA="')
  })

  it('takes at most 18 bytes a number up to 1 as text', () => {
    fc.assert(
      fc.property(unit, (vector) => {
        expect(vectorText(vector, 'float').length).to.be.at.most(18 * vector.length + 1)
      }),
    )
  })

  for (const [what, written] of [
    ['nothing', undefined],
    ['no numbers', []],
    ['texts', ['1']],
    ['a number that is none', [1, null]],
    ['what is beyond 32 bits', [1e300]],
    ['half a number', 'AACA'],
    ['an infinite number', 'AACAfw=='],
    ['no base64', '!'],
  ] as const) {
    it(`is not made of ${what}`, () => expect(vectorOf(written)).to.equal(null))
  }
})
