import { expect } from 'chai'
import fc from 'fast-check'
import { MAX_CALL_CREDITS, chatCharge, chatCost, mediaCost } from '../../../src/shared/requests/pricing.ts'
import type { MediaShape } from '../../../src/shared/requests/media-rows.ts'
import type { ChatPrice, MediaPrice, Tokens } from '../../../src/shared/requests/pricing.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { seed } from '../../crash/scale.ts'

/** Cases of each kind, all of one kind in one query. */
const CASES = 5000

const rate = fc.oneof(fc.nat(5), fc.nat(10_000), fc.constantFrom(999_999_999, 1_000_000_000))
const count = fc.oneof(fc.nat(3), fc.nat(5000), fc.nat(10_000_000))
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })

const chats: fc.Arbitrary<{ price: ChatPrice; tokens: Required<Omit<Tokens, 'reasoning'>> }> = fc.record({
  price: fc.record({
    input: rate,
    output: rate,
    cachedInput: optional(rate),
    cacheWrite: optional(rate),
    perCall: optional(rate),
    perTokens: fc.constantFrom(1, 3, 7, 1000, 1_000_000, 1_000_000_000),
    minimum: fc.oneof(fc.nat(3), fc.nat(1_000_000), fc.constant(MAX_CALL_CREDITS)),
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
const media: fc.Arbitrary<{ price: MediaPrice; shape: MediaShape }> = fc.record({
  price: fc.oneof(
    rate.map((credits) => ({ credits })),
    fc.array(rows, { minLength: 1, maxLength: 4 }).map((prices) => ({ prices })),
  ),
  shape: fc.record({ resolution: optional(resolution), duration: optional(seconds) }),
})

/** Postgres' own arithmetic, of decimals of any length: it shares nothing with BigInt but the rule. */
const CHATS = `
  SELECT least(:most, greatest((p ->> 'minimum')::numeric, coalesce((p ->> 'perCall')::numeric, 0) + ceil((
      ((t ->> 'input')::numeric + (t ->> 'inputAgain')::numeric) * (p ->> 'input')::numeric
      + (t ->> 'cached')::numeric * coalesce(p ->> 'cachedInput', p ->> 'input')::numeric
      + (t ->> 'written')::numeric * coalesce(p ->> 'cacheWrite', p ->> 'input')::numeric
      + (t ->> 'output')::numeric * (p ->> 'output')::numeric) / (p ->> 'perTokens')::numeric)))::text AS cost
  FROM jsonb_array_elements(:cases::jsonb) WITH ORDINALITY AS one (value, place),
    LATERAL (SELECT value -> 'price' AS p, value -> 'tokens' AS t) AS parts
  ORDER BY place`

const MEDIA = `
  SELECT trim_scale(exact - greatest(exact - :most, 0))::text AS cost, unpriced
  FROM (SELECT place, coalesce((p ->> 'credits')::numeric, (
      SELECT coalesce((r ->> 'credits')::numeric, ceil((r ->> 'perSecond')::numeric * (s ->> 'duration')::numeric))
      FROM jsonb_array_elements(p -> 'prices') WITH ORDINALITY AS row (r, nth)
      WHERE r ->> 'resolution' IS NULL OR r ->> 'resolution' = s ->> 'resolution'
      ORDER BY nth LIMIT 1)) AS exact,
    p ->> 'credits' IS NULL AND NOT EXISTS (
      SELECT FROM jsonb_array_elements(p -> 'prices') r
      WHERE r ->> 'resolution' IS NULL OR r ->> 'resolution' = s ->> 'resolution') AS unpriced
  FROM jsonb_array_elements(:cases::jsonb) WITH ORDINALITY AS one (value, place),
    LATERAL (SELECT value -> 'price' AS p, value -> 'shape' AS s) AS parts) AS priced
  ORDER BY place`

describe('the arithmetic of prices', function () {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 1 })
  })
  after(() => db.destroy())

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
