import { expect } from 'chai'
import fc from 'fast-check'
import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { CameAs } from '../../../src/shared/terms/media-rows.ts'
import type { Measured, MediaPrice, MediaPriceRow, Price, Tokens } from '../../../src/shared/terms/pricing.ts'
import {
  callCost,
  chatCharge,
  mediaCost,
  pricedAs,
  searchCost,
  settledCost,
  settledPictures,
  speechCost,
} from '../../../src/shared/terms/pricing.ts'
import type { ReceiptFacts, ReceiptLine } from '../../../src/shared/terms/receipts.ts'
import { receiptOf } from '../../../src/shared/terms/receipts.ts'

/** Credits in units of 10^-40: what a receipt adds up to, without a rounding error. */
function sumOf(lines: readonly ReceiptLine[]): bigint {
  return lines.reduce((sum, { credits }) => {
    const [, sign = '', before = '', after = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(credits)!
    return sum + BigInt(`${sign}${before}${after.padEnd(40, '0')}`)
  }, 0n)
}

const ONE = 10n ** 40n

const rate = fc.nat(5000)
const count = fc.nat(2_000_000)
const share = fc.constantFrom({}, { priceBasisPoints: 8000 }, { priceBasisPoints: 1 }, { priceBasisPoints: 12_345 })
const perTokens = fc.constantFrom(1, 3, 7, 1000, 1024, 1_000_000, 1_000_000_000)
const tokenPrice = { input: rate, perTokens, minimum: fc.nat(50) }
const rows = fc.constantFrom<MediaPriceRow[][]>(
  [{ size: '1024x1024', quality: 'high', credits: 60 }, { size: '1024x1024', credits: 25 }, { credits: 40 }],
  [{ resolution: '720p', perSecond: 7 }, { perSecond: 3 }, { credits: 11 }],
)
const mediaPrice: fc.Arbitrary<MediaPrice> = fc.oneof(fc.record({ credits: rate }), fc.record({ prices: rows }))
const shape = fc.record(
  {
    size: fc.constantFrom('1024x1024', '512x512'),
    quality: fc.constantFrom('high', 'low'),
    resolution: fc.constantFrom('720p', '1080p'),
  },
  { requiredKeys: [] },
)
const seconds = fc.constantFrom(1, 0.1, 5, 7.25, 12.345, 600)

type Sold = { price: Price; held: number; cost: number } & Partial<ReceiptFacts>

const of = <P>(price: fc.Arbitrary<P>): fc.Arbitrary<P & { priceBasisPoints?: number }> =>
  fc.tuple(price, share).map(([one, part]) => ({ ...one, ...part }))

const tokens = fc.record({ input: count, cached: count, written: count, inputAgain: count, output: count })

/** What is charged and settled for a call of each kind, by the functions that charge and settle it. */
const SOLD: Record<Modality, fc.Arbitrary<Sold>> = {
  chat: fc
    .tuple(
      of(fc.record({ ...tokenPrice, output: rate, cachedInput: rate, cacheWrite: rate, perCall: fc.nat(9) })),
      tokens,
      fc.record({ input: count, output: count }),
    )
    .map(([price, used, estimate]) => {
      const held = chatCharge(price, estimate)
      return { price, held, cost: settledCost(price, used, held), tokens: used }
    }),
  embedding: fc.tuple(of(fc.record(tokenPrice)), count).map(([price, input]) => {
    const used: Tokens = { input, output: 0 }
    const held = settledCost(price, used, Number.MAX_SAFE_INTEGER / 4)
    return { price, held, cost: held, tokens: used }
  }),
  image: fc.tuple(of(mediaPrice), shape, shape, fc.integer({ min: 1, max: 8 })).map(([price, asked, made, n]) => {
    const came: CameAs = made
    const held = mediaCost(price, asked, n) ?? 0
    const pictures = Math.ceil(n / 2)
    const cost = settledPictures(price, asked, { came, pictures, charged: held })
    return { price, held, cost, pictures, shape: pricedAs(price, asked, came) }
  }),
  video: measured(shape),
  transcription: measured(fc.constant({})),
  moderation: of(fc.record({ credits: rate })).map((price) => sold(price, callCost(price))),
  rerank: fc
    .tuple(of(fc.record({ perSearch: rate })), fc.nat(100))
    .map(([price, units]) => ({ ...sold(price, searchCost(price, units)), units })),
  speech: fc
    .tuple(of(fc.record({ perCharacter: rate, perCharacters: perTokens, minimum: fc.nat(9) })), fc.nat(8192))
    .map(([price, units]) => ({ ...sold(price, speechCost(price, units)), units })),
}

const sold = (price: Price, cost: number): Sold => ({ price, held: cost, cost })

function measured(shapes: fc.Arbitrary<Measured>): fc.Arbitrary<Sold> {
  return fc.tuple(of(mediaPrice), shapes, seconds).map(([price, asked, duration]) => {
    const made = { ...asked, duration }
    return { ...sold(price, mediaCost(price, made) ?? 0), shape: made }
  })
}

const factsOf = (modality: Modality, { cost, ...rest }: Sold, lost = 0): ReceiptFacts => ({
  modality,
  status: 'succeeded',
  tokens: null,
  pictures: null,
  units: null,
  shape: {},
  ...rest,
  credits: cost - lost,
  uncollected: lost,
})

describe('the receipt of a call', () => {
  for (const modality of MODALITIES) {
    it(`adds up to what the call took, exactly, whatever its price and its use: ${modality}`, () => {
      fc.assert(
        fc.property(SOLD[modality], fc.nat(100), (call, part) => {
          const lost = Math.floor((call.cost * part) / 100)
          const lines = receiptOf(factsOf(modality, call, lost))
          expect(sumOf(lines)).to.equal(BigInt(call.cost - lost) * ONE)
          // What it used at its prices, rounded up, is the cost: only the bound of what was held takes off more.
          const rounded = sumOf(lines.filter(({ what }) => what !== 'limit' && what !== 'uncollected'))
          const bound = modality === 'chat' ? 2 * call.held : call.held
          if (lines.some(({ what }) => what === 'limit')) expect(call.cost).to.equal(bound)
          else expect(rounded).to.equal(BigInt(call.cost) * ONE)
          const rounding = lines.filter(({ what }) => what === 'rounding')
          expect(sumOf(rounding) < ONE && sumOf(rounding) >= 0n).to.equal(true)
        }),
        { numRuns: 300 },
      )
    })

    it(`has what is held while the call runs, and gives all of it back where it fails: ${modality}`, () => {
      fc.assert(
        fc.property(SOLD[modality], (call) => {
          const facts = factsOf(modality, call)
          expect(sumOf(receiptOf({ ...facts, status: 'running' }))).to.equal(BigInt(call.held) * ONE)
          expect(sumOf(receiptOf({ ...facts, status: 'failed', credits: 0 }))).to.equal(0n)
          expect(receiptOf({ ...facts, status: 'rejected', price: null })).to.deep.equal([])
        }),
        { numRuns: 20 },
      )
    })
  }

  const lineOf = ({ what, quantity, unit, credits }: ReceiptLine) => `${what} ${quantity} ${unit} ${credits}`
  const TOKENS = { input: 4996, output: 2 }
  const CHAT = { input: 1000, output: 3000, perTokens: 1_000_000, minimum: 1 }

  const EXAMPLES: [string, Modality, Sold, string[]][] = [
    [
      'tokens, and rounding up',
      'chat',
      { price: CHAT, held: 9, cost: 6, tokens: TOKENS },
      ['input 4996 token 4.996', 'output 2 token 0.006', 'rounding 1 call 0.998'],
    ],
    [
      'a minimum, and what a group pays of it',
      'chat',
      {
        price: { ...CHAT, minimum: 5, perCall: 2, priceBasisPoints: 8000 },
        held: 4,
        cost: 4,
        tokens: { ...TOKENS, input: 1000, output: 0 },
      },
      ['input 1000 token 1', 'perCall 1 call 2', 'minimum 1 call 2', 'group 0.8 share -1'],
    ],
    [
      'the bound of twice what was held',
      'chat',
      { price: CHAT, held: 2, cost: 4, tokens: { input: 6000, output: 0 } },
      ['input 6000 token 6', 'limit 1 call -2'],
    ],
    [
      'pictures at the row of what came',
      'image',
      {
        price: { prices: [{ quality: 'high', credits: 60 }, { credits: 10 }] },
        held: 120,
        cost: 120,
        pictures: 2,
        shape: { quality: 'high' },
      },
      ['image 2 picture 120'],
    ],
    [
      'seconds',
      'video',
      { price: { prices: [{ perSecond: 7 }] }, held: 8, cost: 8, shape: { duration: 1.1 } },
      ['video 1.1 second 7.7', 'rounding 1 call 0.3'],
    ],
    [
      'characters',
      'speech',
      { price: { perCharacter: 15, perCharacters: 1000, minimum: 1 }, held: 20, cost: 20, units: 1300 },
      ['speech 1300 character 19.5', 'rounding 1 call 0.5'],
    ],
    [
      'all of it for a call from before its quantities were stored',
      'speech',
      { price: { perCharacter: 15, perCharacters: 1000 }, held: 20, cost: 20 },
      ['call 1 call 20'],
    ],
  ]

  for (const [title, modality, call, lines] of EXAMPLES) {
    it(`lists ${title}`, () => {
      expect(receiptOf(factsOf(modality, call)).map(lineOf)).to.deep.equal(lines)
    })
  }
})
