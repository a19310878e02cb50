import { expect } from 'chai'
import { rateOf } from '../../../src/shared/catalogue/packs.ts'

describe('the rate at which credits are sold', () => {
  const pack = (id: string, amountMinor: number, credits: number) => ({
    id,
    currency: 'usd',
    amountMinor,
    credits,
    bonus: 50,
  })
  const topUp = { currency: 'eur', minMinor: 500, maxMinor: 1000, creditsPer: 100, perMinor: 90 }

  it('is that of free amounts, else of the smallest pack without its bonus, else there is none', () => {
    const packs = [pack('large', 9000, 10_000), pack('small', 1000, 1000)]
    expect(rateOf({ packs, topUp })).to.deep.equal({ currency: 'eur', creditsPer: 100, perMinor: 90 })
    expect(rateOf({ packs, topUp: null })).to.deep.equal({ currency: 'usd', creditsPer: 1000, perMinor: 1000 })
    expect(rateOf({ packs: [], topUp: null })).to.equal(null)
  })
})
