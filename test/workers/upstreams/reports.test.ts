/** What was reported of key pools elsewhere as a fault: each report is replayed, and must not happen here. */
import { expect } from 'chai'
import type { PoolKey, Route } from '../../../src/shared/catalogue/catalogue.ts'
import { nameOfKey } from '../../../src/shared/operators/key-states.ts'
import type { KeyFault } from '../../../src/workers/upstreams/adapter.ts'
import { NoKey, UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { RouteCaller, Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { callerUntil, failureOf, routeTo } from './sandbox-upstreams.ts'

/** How a try ends: with an answer, as the key is judged, or as an upstream that is overloaded. */
type Fate = 'ok' | 'overloaded' | 'briefly limited' | KeyFault

const errorOf = (fate: Exclude<Fate, 'ok'>): UpstreamError =>
  fate === 'overloaded'
    ? new UpstreamError('overloaded', 'x', { status: 503 })
    : fate === 'briefly limited'
      ? new UpstreamError('rate_limited', 'x', { keyFault: 'limited', resetMs: 1000 })
      : new UpstreamError(fate === 'limited' ? 'rate_limited' : 'not_served', 'x', { keyFault: fate, resetMs: 60_000 })

const keyed = (name: string, weight: number): PoolKey => ({ name, secret: name, weight })
const poolOf = (name: string, keys: string, { weight = 1, ...more }: Partial<Route> = {}): Route =>
  routeTo('openai', 'http://x.test', {
    ...more,
    upstream: { name, keys: keys.split('').map((one) => keyed(one, weight)) },
  })

describe('a report about key pools elsewhere', () => {
  let upstreams: Upstreams
  let asked: string[]
  beforeEach(() => {
    upstreams = createUpstreams({ accountShare: 1, backoffMs: 1 })
    asked = []
  })
  afterEach(() => upstreams.close())

  /** One call. @param fates by the names of the upstream and the key; 'ok' where it has none */
  const call = (routes: Route[], fates: Record<string, Fate> = {}, more: Partial<RouteCaller> = {}, work = () => {}) =>
    upstreams.tryRoutes(
      { modality: 'chat', routes, ...(more.costOf && { routing: 'price' as const }) },
      { ...callerUntil(new AbortController().signal), ...more },
      async ({ upstream, model }) => {
        const at = `${upstream.name}-${upstream.key}`
        asked.push(at)
        work()
        const fate = fates[at] ?? 'ok'
        if (fate !== 'ok') throw errorOf(fate)
        return `${at} ${model}`
      },
    )

  it('of keys that never come back once they were off: one real call tests them, and they work again', async () => {
    const now = Date.now()
    const state = { is: 'off', reason: 'refused', until: now - 1, since: now - 60_001, times: 1 } as const
    const name = nameOfKey({ upstream: 'u', key: 'a' })
    upstreams.pools.take(new Map([[name, state]]), new Set(), performance.now())
    expect(await call([poolOf('u', 'a')])).to.equal('u-a some/model')
    expect(upstreams.pools.standingOf({ upstream: 'u', key: 'a' })).to.equal('ok')
  })

  it('of a shorter cool-down that ends a longer one: the later end counts, whichever answer comes last', async () => {
    for (const [name, later] of [
      ['u', 'briefly limited'],
      ['v', 'limited'],
    ] as const) {
      const routes = [poolOf(name, 'a')]
      const both: Fate[] = later === 'limited' ? ['briefly limited', later] : ['limited', later]
      await Promise.all(both.map((fate) => failureOf(call(routes, { [`${name}-a`]: fate }))))
      expect(((await failureOf(call(routes))) as NoKey).readyInMs).to.be.within(50_000, 60_000)
    }
  })

  it('of a pool that a limit of one model stops for all: the others are served by the same key', async () => {
    const error = await failureOf(call([poolOf('u', 'a', { model: 'image' })], { 'u-a': 'limited' }))
    expect(error).to.be.instanceOf(NoKey)
    expect(await call([poolOf('u', 'a', { model: 'code' })])).to.equal('u-a code')
  })

  it('of a pin that outlives its target: the call is answered by another key, and asks that once', async () => {
    const routes = [poolOf('u', 'abc')]
    const preferred = { upstream: 'u', key: 'b' }
    expect(await call(routes, { 'u-b': 'limited' }, { preferred })).to.not.include('u-b')
    expect(asked.filter((one) => one === 'u-b')).to.have.lengthOf(1)
    asked = []
    await call(routes, {}, { preferred })
    expect(asked).to.not.include('u-b')
  })

  it('of a drained key that gets calls: it has its sessions alone, and where no other is, there is none', async () => {
    const routes = [poolOf('u', 'a', { weight: 0 })]
    expect(await call(routes, {}, { preferred: { upstream: 'u', key: 'a' } })).to.equal('u-a some/model')
    expect(await failureOf(call(routes))).to.be.instanceOf(NoKey)
  })

  it('of retries that skip half of the list: each key is asked once, while states change', async () => {
    const routes = [poolOf('u', 'abc'), poolOf('v', 'de'), poolOf('w', 'f')]
    // The states of all workers, which are read again in the middle of the walk, know nothing of it.
    const others = (): void => upstreams.pools.take(new Map(), new Set(), performance.now())
    const fates = Object.fromEntries(['u-a', 'u-b', 'u-c', 'v-d', 'v-e'].map((at) => [at, 'refused' as const]))
    expect(await call(routes, fates, {}, others)).to.equal('w-f some/model')
    expect(asked.toSorted()).to.deep.equal(['u-a', 'u-b', 'u-c', 'v-d', 'v-e', 'w-f'])
  })

  it('of an overload that takes keys out for minutes: that is for the circuit, and no key is off', async () => {
    expect(await call([poolOf('u', 'ab'), poolOf('v', 'c')], { 'u-a': 'overloaded', 'u-b': 'overloaded' })).to.include(
      'v-c',
    )
    for (const key of ['a', 'b']) expect(upstreams.pools.standingOf({ upstream: 'u', key })).to.equal('ok')
  })

  it('of a made-up failure where no key is left: it names the earliest end, and harms no other pool', async () => {
    const routes = [poolOf('u', 'a')]
    await failureOf(call(routes, { 'u-a': 'limited' }))
    asked = []
    const error = (await failureOf(call(routes))) as NoKey
    expect(error.readyInMs).to.be.within(55_000, 60_000)
    expect(asked).to.deep.equal([])
    expect(await call([poolOf('v', 'b')])).to.equal('v-b some/model')
  })

  it('of an order by price that does not know of dead keys: the next cheapest is asked', async () => {
    const routes = [poolOf('dear', 'a'), poolOf('cheap', 'b'), poolOf('middle', 'c')]
    const costs: Record<string, number> = { dear: 3, cheap: 1, middle: 2 }
    const costOf = ({ upstream }: Route): number => costs[upstream.name]!
    expect(await call(routes, { 'cheap-b': 'empty' }, { costOf })).to.include('middle-c')
    asked = []
    await call(routes, {}, { costOf })
    expect(asked).to.deep.equal(['middle-c'])
  })
})
