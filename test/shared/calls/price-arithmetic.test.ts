import { expect } from 'chai'
import fc from 'fast-check'
import { MAX_CALL_CREDITS, chatCharge, chatCost, mediaCost } from '../../../src/shared/terms/pricing.ts'
import { priceOfShown, shownPrice } from '../../../src/shared/terms/shown-price.ts'
import type { MediaShape } from '../../../src/shared/terms/media-rows.ts'
import type { CallPrice, ChatPrice, MediaPrice, Share, Tokens } from '../../../src/shared/terms/pricing.ts'
import { seed } from '../../crash/scale.ts'
import { useDb } from '../../support/database.ts'

/** Cases of each kind, all of one kind in one query. */
const CASES = 5000

const rate = fc.oneof(fc.nat(5), fc.nat(10_000), fc.constantFrom(999_999_999, 1_000_000_000))
const count = fc.oneof(fc.nat(3), fc.nat(5000), fc.nat(10_000_000))
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })

/** What a group pays, in ten-thousandths: from next to nothing to ten times the price. */
const points = optional(
  fc.oneof(fc.constantFrom(1, 3333, 8000, 9999, 10_000, 10_001, 100_000), fc.integer({ min: 1, max: 100_000 })),
)

const chats: fc.Arbitrary<{ price: ChatPrice & Share; tokens: Required<Omit<Tokens, 'reasoning'>> }> = fc.record({
  price: fc.record({
    input: rate,
    output: rate,
    cachedInput: optional(rate),
    cacheWrite: optional(rate),
    perCall: optional(rate),
    perTokens: fc.constantFrom(1, 3, 7, 1000, 1_000_000, 1_000_000_000),
    minimum: fc.oneof(fc.nat(3), fc.nat(1_000_000), fc.constant(MAX_CALL_CREDITS)),
    priceBasisPoints: points,
  }),
  tokens: fc.record({ input: count, cached: count, written: count, output: count, inputAgain: count }),
})

const seconds = fc.oneof(
  fc.nat(600),
  fc.nat(60_000).map((hundredths) => hundredths / 100),
  fc.double({ min: 1e-9, max: 600, noNaN: true }),
)
const resolution = fc.constantFrom('480p', '720p', '1080p')
const rows = fc.oneof(
  fc.record({ resolution: optional(resolution), perSecond: rate }),
  fc.record({ resolution: optional(resolution), credits: rate }),
)
const media: fc.Arbitrary<{ price: MediaPrice & Share; shape: MediaShape }> = fc.record({
  price: fc.oneof(
    fc.record({ credits: rate, priceBasisPoints: points }),
    fc.record({ prices: fc.array(rows, { minLength: 1, maxLength: 4 }), priceBasisPoints: points }),
  ),
  shape: fc.record({ resolution: optional(resolution), duration: optional(seconds) }),
})

/** Postgres' own arithmetic, of decimals of any length: it shares nothing with BigInt but the rule. */
const CHATS = `
  SELECT least(:most, div(share * greatest((p ->> 'minimum')::numeric * per,
      coalesce((p ->> 'perCall')::numeric, 0) * per
      + ((t ->> 'input')::numeric + (t ->> 'inputAgain')::numeric) * (p ->> 'input')::numeric
      + (t ->> 'cached')::numeric * coalesce(p ->> 'cachedInput', p ->> 'input')::numeric
      + (t ->> 'written')::numeric * coalesce(p ->> 'cacheWrite', p ->> 'input')::numeric
      + (t ->> 'output')::numeric * (p ->> 'output')::numeric) + 10000 * per - 1, 10000 * per))::text AS cost
  FROM jsonb_array_elements(:cases::jsonb) WITH ORDINALITY AS one (value, place),
    LATERAL (SELECT value -> 'price' AS p, value -> 'tokens' AS t) AS parts,
    LATERAL (SELECT (p ->> 'perTokens')::numeric AS per,
      coalesce((p ->> 'priceBasisPoints')::numeric, 10000) AS share) AS paid
  ORDER BY place`

const MEDIA = `
  SELECT trim_scale(exact - greatest(exact - :most, 0))::text AS cost, unpriced
  FROM (SELECT place, ceil(coalesce((p ->> 'priceBasisPoints')::numeric, 10000) * 0.0001
      * coalesce((p ->> 'credits')::numeric, (
      SELECT coalesce((r ->> 'credits')::numeric, (r ->> 'perSecond')::numeric * (s ->> 'duration')::numeric)
      FROM jsonb_array_elements(p -> 'prices') WITH ORDINALITY AS row (r, nth)
      WHERE r ->> 'resolution' IS NULL OR r ->> 'resolution' = s ->> 'resolution'
      ORDER BY nth LIMIT 1))) AS exact,
    p ->> 'credits' IS NULL AND NOT EXISTS (
      SELECT FROM jsonb_array_elements(p -> 'prices') r
      WHERE r ->> 'resolution' IS NULL OR r ->> 'resolution' = s ->> 'resolution') AS unpriced
  FROM jsonb_array_elements(:cases::jsonb) WITH ORDINALITY AS one (value, place),
    LATERAL (SELECT value -> 'price' AS p, value -> 'shape' AS s) AS parts) AS priced
  ORDER BY place`

describe('the arithmetic of prices', function () {
  const db = useDb({ pool: 1 })

  type Judged = { cost: string | null; unpriced?: boolean }
  const judge = async (query: string, cases: unknown[]): Promise<Judged[]> =>
    (await db.raw<{ rows: Judged[] }>(query, { cases: JSON.stringify(cases), most: MAX_CALL_CREDITS })).rows

  it(`is that of Postgres' numeric, for ${CASES} chats of every shape of price`, async () => {
    const cases = fc.sample(chats, { numRuns: CASES, seed })
    const judged = await judge(CHATS, cases)
    for (const [at, { price, tokens }] of cases.entries()) {
      expect(String(chatCost(price, tokens)), `seed ${seed}: ${JSON.stringify(cases[at])}`).to.equal(judged[at]!.cost)
    }
  })

  it(`is that of Postgres' numeric, for ${CASES} images and videos of every shape of price`, async () => {
    const cases = fc.sample(media, { numRuns: CASES, seed })
    const judged = await judge(MEDIA, cases)
    for (const [at, { price, shape }] of cases.entries()) {
      const { cost } = judged[at]!
      const own = mediaCost(price, shape)
      expect(own === null ? null : String(own), `seed ${seed}: ${JSON.stringify(cases[at])}`).to.equal(cost)
    }
    expect(judged.filter(({ unpriced }) => unpriced).length, 'what has no price').to.be.above(CASES / 100)
  })

  it('is what the price that customers see comes to, rounded up', () => {
    fc.assert(
      fc.property(chats, media, ({ price, tokens }, { price: of, shape }) => {
        // What is shown is exact as far as numbers of JSON are.
        const shown = { ...price, minimum: Math.min(price.minimum, 1_000_000) }
        expect(chatCost(priceOfShown(shownPrice(shown)), tokens)).to.equal(chatCost(shown, tokens))
        expect(mediaCost(priceOfShown(shownPrice(of)), shape)).to.equal(mediaCost(of, shape))
      }),
      { numRuns: 2000, seed },
    )
    const price = { input: 3, output: 10, perTokens: 1000, minimum: 1, priceBasisPoints: 8005 }
    expect(shownPrice(price)).to.deep.equal({ input: 2.4015, output: 8.005, perTokens: 1000, minimum: 0.8005 })
    const rows = { prices: [{ resolution: '1080p', perSecond: 40 }, { credits: 25 }], priceBasisPoints: 1 }
    expect(shownPrice(rows)).to.deep.equal({ prices: [{ resolution: '1080p', perSecond: 0.004 }, { credits: 0.0025 }] })
    const whole: CallPrice & Share = { credits: 40 }
    expect(shownPrice(whole)).to.deep.equal({ credits: 40 })
  })

  it('never charges less beforehand than any split of the same input costs in the end', () => {
    fc.assert(
      fc.property(chats, ({ price, tokens: { input, cached, written, output } }) => {
        const charge = chatCharge(price, { input: input + cached + written, output })
        expect(charge).to.be.at.least(chatCost(price, { input, cached, written, output }))
      }),
      { numRuns: 1000, seed },
    )
  })

  it('never falls when a second, a token or a call more is asked for', () => {
    fc.assert(
      fc.property(chats, media, seconds, ({ price, tokens }, { price: of, shape }, more) => {
        for (const name of ['input', 'cached', 'written', 'output'] as const) {
          const dearer = chatCost(price, { ...tokens, [name]: tokens[name] + 1 })
          expect(dearer, name).to.be.at.least(chatCost(price, tokens))
        }
        const cost = mediaCost(of, shape)
        if (cost === null || shape.duration === undefined) return
        expect(mediaCost(of, { ...shape, duration: shape.duration + more })).to.be.at.least(cost)
      }),
      { numRuns: 1000, seed },
    )
  })
})
