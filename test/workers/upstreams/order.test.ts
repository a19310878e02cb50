import { expect } from 'chai'
import type { Route } from '../../../src/shared/catalogue/catalogue.ts'
import { Latencies, orderedRoutes } from '../../../src/workers/upstreams/order.ts'
import type { Ordering } from '../../../src/workers/upstreams/order.ts'
import { routeTo } from './sandbox-upstreams.ts'

const NOW = 1_800_000_000_000
const routeOf = (name: string, weight?: number): Route => ({
  ...routeTo('openai', 'http://x.test', { upstream: { name } }),
  ...(weight !== undefined && { weight }),
})
const namesOf = (routes: readonly Route[]): string => routes.map(({ upstream }) => upstream.name).join('')
const nothing: Ordering = { costOf: () => null, latencyOf: () => null, random: () => 0.5 }

describe('the order of the upstreams of a model', () => {
  const routes = ['a', 'b', 'c'].map((name) => routeOf(name))
  const by = (figures: Record<string, number>) => (route: Route) => figures[route.upstream.name] ?? null

  it('is that of the catalogue, unless its model states another', () => {
    expect(namesOf(orderedRoutes({ routes }, nothing))).to.equal('abc')
    expect(namesOf(orderedRoutes({ routes, routing: 'order' }, { ...nothing, costOf: by({ c: 1 }) }))).to.equal('abc')
  })

  it('is that of their costs, the unknown ones last', () => {
    const costOf = by({ b: 2, c: 1 })
    expect(namesOf(orderedRoutes({ routes, routing: 'price' }, { ...nothing, costOf }))).to.equal('cba')
    expect(namesOf(orderedRoutes({ routes, routing: 'price' }, nothing))).to.equal('abc')
  })

  it('is that of their times, those without a measure first', () => {
    const latencyOf = by({ a: 90, c: 10 })
    expect(namesOf(orderedRoutes({ routes, routing: 'latency' }, { ...nothing, latencyOf }))).to.equal('bca')
  })

  it('has each first as often as its share of the weights, and one of weight 0 only as the last', () => {
    const weighted = [routeOf('a', 3), routeOf('b', 1), routeOf('z', 0)]
    let seed = 1
    const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
    const orders = Array.from({ length: 4000 }, () =>
      namesOf(orderedRoutes({ routes: weighted, routing: 'weight' }, { ...nothing, random })),
    )
    expect(orders.filter((order) => order === 'abz').length).to.be.within(2800, 3200)
    expect(new Set(orders)).to.deep.equal(new Set(['abz', 'baz']))
  })

  it('takes the median of the last hour, once there are twenty times', () => {
    const latencies = new Latencies()
    const [a] = routes as [Route]
    for (let ms = 1; ms <= 30; ms += 1) latencies.add(a, 9000, NOW - 3_600_001)
    for (let ms = 1; ms <= 19; ms += 1) latencies.add(a, ms, NOW)
    expect(latencies.medianOf(a, NOW)).to.equal(null)
    latencies.add(a, 20, NOW)
    expect(latencies.medianOf(a, NOW)).to.equal(11)
    expect(latencies.medianOf(a, NOW + 3_600_001)).to.equal(null)
  })
})
