import { expect } from 'chai'
import fc from 'fast-check'
import { chatCost, mediaCost, mediaMicroUsd } from '../../../src/shared/terms/pricing.ts'
import type { ChatPrice, MediaCost, MediaPriceRow } from '../../../src/shared/terms/pricing.ts'
import { marginFaults } from '../../../src/shared/catalogue/margins.ts'
import type { PricedCatalogue } from '../../../src/shared/catalogue/margins.ts'
import { seed } from '../../crash/scale.ts'

const pricing = { input: 10, output: 50, perTokens: 1000, minimum: 1 }
const chatOf = (cost: object, more: object = {}): PricedCatalogue['models'] =>
  [{ modality: 'chat', pricing: { ...pricing, ...more }, upstreams: [{ upstream: 'one', cost }] }] as never
const pathsOf = (models: PricedCatalogue['models'], creditMicroUsd: number | undefined = 100): string[] =>
  marginFaults({ creditMicroUsd, models }).map(({ path }) => path)

describe('a cost that exceeds its price', () => {
  it('is named by its path, each rate by itself', () => {
    const cost = { input: 1_000_001, output: 5_000_000, perTokens: 1_000_000 }
    expect(pathsOf(chatOf(cost))).to.deep.equal(
      ['input', 'cachedInput', 'cacheWrite'].map((kind) => `models[0].upstreams[0].cost.${kind}`),
    )
    expect(pathsOf(chatOf({ ...cost, input: 1_000_000 }))).to.deep.equal([])
    expect(pathsOf(chatOf({ ...cost, input: 900_000, cacheWrite: 1_250_000 }))).to.deep.equal([
      'models[0].upstreams[0].cost.cacheWrite',
    ])
    expect(pathsOf(chatOf({ ...cost, input: 900_000, cacheWrite: 1_250_000 }, { cacheWrite: 13 }))).to.deep.equal([])
    const [fault] = marginFaults({ creditMicroUsd: 100, models: chatOf({ ...cost, input: 0, output: 6_000_000 }) })
    expect(fault!.message).to.match(/costs \$6 for a million tokens, which are sold for \$5/)
  })

  it('is found where it hides beneath a minimum: a fee of every call', () => {
    const cost = { input: 1_000_000, output: 5_000_000, perCall: 50, perTokens: 1_000_000, minimum: 0 }
    expect(pathsOf(chatOf(cost))).to.deep.equal(['models[0].upstreams[0].cost'])
    expect(pathsOf(chatOf(cost, { perCall: 1 }))).to.deep.equal([])
    expect(pathsOf(chatOf({ ...cost, perCall: 201 }, { minimum: 2 }))).to.deep.equal(['models[0].upstreams[0].cost'])
  })

  it('is not reported if a credit has no value, a cost is not stated, or a model is disabled', () => {
    const cost = { input: 9e8, output: 0, perTokens: 1, minimum: 0 }
    expect(marginFaults({ models: chatOf(cost) })).to.deep.equal([])
    expect(pathsOf(chatOf(cost).map((model) => ({ ...model, enabled: false })))).to.deep.equal([])
    expect(pathsOf([{ modality: 'image', credits: 0, upstreams: [{ upstream: 'one' }] }])).to.deep.equal([])
  })

  it('is found of a moderation by the call, and of a ranking by the search', () => {
    const moderation = (credits: number, perCall: number): PricedCatalogue['models'] => [
      { modality: 'moderation', credits, upstreams: [{ upstream: 'one', cost: { perCall } }] },
    ]
    expect(pathsOf(moderation(2, 200))).to.deep.equal([])
    expect(pathsOf(moderation(2, 201))).to.deep.equal(['models[0].upstreams[0].cost'])
    expect(pathsOf(moderation(0, 1))).to.deep.equal(['models[0].upstreams[0].cost'])
    const rerank = (price: number, cost: number): PricedCatalogue['models'] => [
      {
        modality: 'rerank',
        pricing: { perSearch: price },
        upstreams: [{ upstream: 'one', cost: { perSearch: cost } }],
      },
    ]
    expect(pathsOf(rerank(3, 300))).to.deep.equal([])
    expect(pathsOf(rerank(3, 301))).to.deep.equal(['models[0].upstreams[0].cost'])
  })

  it('is found at the length and the resolution at which it is worst', () => {
    const video = (prices: MediaPriceRow[], cost: MediaCost): PricedCatalogue['models'] => [
      {
        modality: 'video',
        durations: { min: 2, max: 8 },
        resolutions: ['720p', '1080p'],
        prices,
        upstreams: [{ upstream: 'one', cost }],
      },
    ]
    const rows = [{ resolution: '1080p', perSecond: 40 }, { perSecond: 25 }]
    expect(pathsOf(video(rows, { perSecond: 2500 }))).to.deep.equal([])
    expect(pathsOf(video(rows, { perSecond: 2501 }))).to.deep.equal(['models[0].upstreams[0].cost'])
    expect(pathsOf(video([{ credits: 200 }], { perSecond: 2500 }))).to.deep.equal([])
    expect(pathsOf(video([{ credits: 199 }], { perSecond: 2500 })), 'the longest').to.have.lengthOf(1)
    expect(pathsOf(video([{ perSecond: 25 }], { perCall: 5000 }))).to.deep.equal([])
    expect(pathsOf(video([{ perSecond: 25 }], { perCall: 5001 })), 'the shortest').to.have.lengthOf(1)
    const unstated = { modality: 'video', credits: 249, upstreams: [{ upstream: 'one', cost: { perSecond: 2500 } }] }
    expect(pathsOf([unstated] as PricedCatalogue['models']), 'ten seconds may be asked for').to.have.lengthOf(1)
  })

  const rate = fc.nat(60)
  const rates: fc.Arbitrary<ChatPrice> = fc.record({
    input: rate,
    output: rate,
    cachedInput: rate,
    cacheWrite: rate,
    perCall: fc.nat(4),
    perTokens: fc.constantFrom(1, 10, 1000),
    minimum: fc.nat(8),
  })

  it('is there for no call of a chat without a fault', () => {
    let sound = 0
    fc.assert(
      fc.property(
        rates,
        rates.map((cost) => ({ ...cost, perTokens: cost.perTokens * 3 })),
        fc.record({ input: fc.nat(3000), output: fc.nat(3000), cached: fc.nat(3000), written: fc.nat(3000) }),
        (price, cost, tokens) => {
          if (pathsOf(chatOf(cost, price), 3).length > 0) return
          sound++
          // A cost is rounded up to whole micro-dollars, a price to credits: only the first can be against us, by one.
          expect(chatCost(cost, tokens)).to.be.at.most(chatCost(price, tokens) * 3 + 1)
        },
      ),
      { numRuns: 3000, seed },
    )
    expect(sound).to.be.above(30)
  })

  const share = fc.constantFrom(1, 3333, 8000, 9999, 12_345, 100_000)

  it('is found at the price of each group that may see the model, and names the group', () => {
    const models = chatOf({ input: 900_000, output: 4_500_000, perTokens: 1_000_000 }).map((one) => ({
      ...one,
      id: 'm',
    }))
    const faultsFor = (groups: PricedCatalogue['groups']) => marginFaults({ creditMicroUsd: 100, models, groups })
    const seen = faultsFor({ dear: { priceBasisPoints: 9000 }, other: { priceBasisPoints: 1, models: ['n'] } })
    expect(seen).to.deep.equal([])
    const faults = faultsFor({ dear: {}, cheap: { priceBasisPoints: 8999, models: ['m'] } })
    expect(faults.map(({ path }) => path)).to.include('models[0].upstreams[0].cost.output')
    for (const { message } of faults) expect(message).to.match(/\(group "cheap"\)$/)
    expect(faults.at(-1)!.message).to.include('costs $4.5 for a million tokens, which are sold for $4.4995')
    const picture = [
      { id: 'm', modality: 'image', credits: 10, upstreams: [{ upstream: 'one', cost: { perCall: 801 } }] },
    ]
    const groups = { partner: { priceBasisPoints: 8000 }, almost: { priceBasisPoints: 8001 } }
    expect(marginFaults({ creditMicroUsd: 100, models: picture, groups } as PricedCatalogue)).to.deep.equal([
      {
        path: 'models[0].upstreams[0].cost',
        // Of 8,001 a picture is rounded up to nine credits.
        message: 'costs $0.000801, sold for $0.0008 (group "partner")',
      },
    ])
  })

  it('is there for no call of a chat in a group without a fault', () => {
    let sound = 0
    const tokens = fc.record({ input: fc.nat(300), output: fc.nat(300), cached: fc.nat(300), written: fc.nat(300) })
    const costs = rates.map((cost) => ({ ...cost, perTokens: cost.perTokens * 3 }))
    fc.assert(
      fc.property(rates, costs, share, tokens, (price, cost, priceBasisPoints, used) => {
        const groups = { one: { priceBasisPoints } }
        const faults = marginFaults({ creditMicroUsd: 3, models: chatOf(cost, price), groups })
        if (faults.some(({ message }) => message.endsWith('(group "one")'))) return
        sound++
        expect(chatCost(cost, used)).to.be.at.most(chatCost({ ...price, priceBasisPoints }, used) * 3 + 1)
      }),
      { numRuns: 5000, seed },
    )
    expect(sound).to.be.above(30)
  })

  it('is there for no video without a fault', () => {
    const prices: fc.Arbitrary<MediaPriceRow[]> = fc.array(
      fc.oneof(fc.record({ perSecond: rate }), fc.record({ credits: rate })),
      { minLength: 1, maxLength: 2 },
    )
    const costs: fc.Arbitrary<MediaCost> = fc.oneof(fc.record({ perSecond: rate }), fc.record({ perCall: rate }))
    fc.assert(
      fc.property(prices, costs, fc.double({ min: 2, max: 8, noNaN: true }), (rows, cost, duration) => {
        const model = {
          modality: 'video',
          durations: { min: 2, max: 8 },
          prices: rows,
          upstreams: [{ upstream: 'one', cost }],
        }
        if (pathsOf([model] as PricedCatalogue['models'], 3).length > 0) return
        expect(mediaMicroUsd(cost, { duration })).to.be.at.most(mediaCost({ prices: rows }, { duration })! * 3)
      }),
      { numRuns: 1000, seed },
    )
  })
})
