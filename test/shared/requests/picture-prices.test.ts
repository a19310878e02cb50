import { expect } from 'chai'
import fc from 'fast-check'
import { leastMediaCost } from '../../../src/shared/requests/media-options.ts'
import type { MediaShape } from '../../../src/shared/terms/media-rows.ts'
import { mediaCost, mediaMicroUsd, settledPictures } from '../../../src/shared/terms/pricing.ts'
import type { MediaPrice, MediaPriceRow } from '../../../src/shared/terms/pricing.ts'

const sizes = ['64x64', '64x96']
const qualities = ['low', 'high']

const PRICE: MediaPrice = {
  prices: [
    { size: '64x64', quality: 'low', credits: 5 },
    { quality: 'low', credits: 9 },
    { size: '64x64', credits: 40 },
    { credits: 60 },
  ],
}

describe('the price of pictures', () => {
  const COSTS: [shape: MediaShape, pictures: number, credits: number][] = [
    [{ size: '64x64', quality: 'low' }, 1, 5],
    [{ size: '64x96', quality: 'low' }, 1, 9],
    [{ size: '64x64', quality: 'high' }, 3, 120],
    [{ size: '64x96', quality: 'high' }, 10, 600],
    // Something is left to the upstream.
    [{ size: '64x64' }, 1, 40],
    [{ quality: 'low' }, 2, 18],
    [{}, 1, 60],
    // A resolution is no size that is left open.
    [{ resolution: '1K', quality: 'low' }, 1, 9],
  ]
  for (const [shape, pictures, credits] of COSTS) {
    it(`is ${credits} for ${pictures} of ${JSON.stringify(shape)}`, () => {
      expect(mediaCost(PRICE, shape, pictures)).to.equal(credits)
    })
  }

  it('is none where no row fits, whatever is left open', () => {
    const price: MediaPrice = { prices: [{ size: '64x64', quality: 'low', credits: 5 }] }
    expect(mediaCost(price, { size: '64x96' })).to.equal(null)
    expect(mediaCost(price, { quality: 'high' })).to.equal(null)
    expect(mediaCost(price, { resolution: '1K' })).to.equal(null)
    expect(mediaCost(price, {})).to.equal(5)
  })

  it('is settled as named where the customer named it, and as it came where not', () => {
    const settled = (shape: MediaShape, came: object, pictures: number, charged: number) =>
      settledPictures(PRICE, shape, { came, pictures, charged })
    expect(settled({ quality: 'high', size: '64x64' }, { quality: 'low' }, 1, 40)).to.equal(40)
    expect(settled({ size: '64x64' }, { quality: 'low' }, 1, 40)).to.equal(5)
    expect(settled({}, { size: '64x64', quality: 'low' }, 2, 180)).to.equal(10)
    expect(settled({}, {}, 2, 180)).to.equal(120)
    expect(settled({ quality: 'low' }, { quality: 'high' }, 1, 9), 'never above its charge').to.equal(9)
  })

  it('costs the operator what came of it, by rows too', () => {
    const cost = { rows: [{ quality: 'low', perCall: 4 }, { perCall: 30 }] }
    expect(mediaMicroUsd(cost, { quality: 'low' })).to.equal(4)
    expect(mediaMicroUsd(cost, { quality: 'high' })).to.equal(30)
    expect(mediaMicroUsd(cost, {})).to.equal(30)
  })

  const word = (words: string[]) => fc.option(fc.constantFrom(...words), { nil: undefined })
  const shaped = fc.record({ size: word(sizes), quality: word(qualities) }, { noNullPrototype: true })
  const withoutHoles = <T extends object>(one: T): T =>
    Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as T
  const row = fc
    .record({ size: word(sizes), quality: word(qualities), credits: fc.nat({ max: 100 }) }, { noNullPrototype: true })
    .map((one) => withoutHoles(one) as MediaPriceRow)
  const prices = fc.array(row, { minLength: 1, maxLength: 6 })
  const asked = shaped.map((one) => withoutHoles(one) as MediaShape)

  it('never turns out to be more than what was held, and is at least what the model lists', () => {
    fc.assert(
      fc.property(prices, asked, shaped, fc.integer({ min: 1, max: 10 }), (rows, shape, other, n) => {
        const price = { prices: rows }
        const held = mediaCost(price, shape, n)
        if (held === null) return
        const came = withoutHoles(other)
        for (let pictures = 1; pictures <= n; pictures++) {
          const cost = settledPictures(price, shape, { came, pictures, charged: held })
          expect(cost).to.be.at.most(held)
          const exact = { ...came, ...shape } as MediaShape
          const real = mediaCost(price, exact, pictures)
          if (real !== null) expect(cost, 'and is what came').to.equal(real)
        }
        const least = leastMediaCost({ modality: 'image', sizes, qualities }, price, shape)
        if (least !== null) expect(least).to.be.at.most(held)
      }),
    )
  })
})
