import { expect } from 'chai'
import fc from 'fast-check'
import { dollarsOf } from '../../../src/shared/terms/dollars.ts'

describe('a price in dollars', () => {
  it('is an exact decimal, without an exponent and without zeros at its end', () => {
    expect(dollarsOf(1, 1000, 1000)).to.equal('0.000001')
    expect(dollarsOf(3, 1000, 1_000_000)).to.equal('0.000000003')
    expect(dollarsOf(1, 1, 1_000_000_000)).to.equal('0.000000000000001')
    expect(dollarsOf(40, 1000)).to.equal('0.04')
    expect(dollarsOf(1, 1, 1024)).to.equal('0.0000000009765625')
    expect(dollarsOf(2000, 1000)).to.equal('2')
    expect(dollarsOf(0, 1000, 1000)).to.equal('0')
    expect(dollarsOf(999_999_999_999, 1_000_000_000)).to.equal('999999999999000')
  })

  it('is rounded up in its 30th place where the decimal does not end', () => {
    expect(dollarsOf(1, 1, 3)).to.equal('0.000000333333333333333333333334')
  })

  it('times its tokens is the price again, for any price whose decimal ends', () => {
    const tens = fc.constantFrom(1, 10, 100, 1000, 4096, 1_000_000, 1_000_000_000)
    const amount = fc.integer({ min: 0, max: 1_000_000_000 })
    fc.assert(
      fc.property(amount, amount, tens, (credits, worth, per) => {
        const [whole, fraction = ''] = dollarsOf(credits, worth, per).split('.') as [string, string?]
        const micro = BigInt(whole + fraction) * BigInt(per) * 1_000_000n
        expect(micro).to.equal(BigInt(credits) * BigInt(worth) * 10n ** BigInt(fraction.length))
      }),
    )
  })
})
