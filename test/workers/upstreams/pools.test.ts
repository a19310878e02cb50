import { expect } from 'chai'
import type { PoolKey } from '../../../src/shared/catalogue/catalogue.ts'
import type { KeyState } from '../../../src/shared/operators/key-states.ts'
import { nameOfKey } from '../../../src/shared/operators/key-states.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { Pools, targetsOf } from '../../../src/workers/upstreams/pools.ts'
import type { Target } from '../../../src/workers/upstreams/routing.ts'
import { callerUntil, failureOf, routeTo } from './sandbox-upstreams.ts'

const caller = callerUntil(new AbortController().signal)
const route = routeTo('openai', 'http://x.test', { upstream: { name: 'u' } })
const keyed = (name: string, more: Partial<PoolKey> = {}): PoolKey => ({ name, secret: name, weight: 1, ...more })
const targetsWith = (...keys: PoolKey[]): Target[] => targetsOf([route], () => keys)
const chosen = (pools: Pools, targets: Target[], times: number) =>
  Array.from({ length: times }, () => pools.choose(targets).key.name)

const failing =
  (keyFault: 'limited' | 'refused', resetMs: number | null = null) =>
  () =>
    Promise.reject(
      new UpstreamError(keyFault === 'limited' ? 'rate_limited' : 'not_served', 'x', { keyFault, resetMs }),
    )

describe('the keys of an upstream', () => {
  it('are chosen by weight, in turns, and one of weight 0 never', () => {
    const pools = new Pools(1)
    const targets = targetsWith(keyed('a', { weight: 3 }), keyed('b'), keyed('drained', { weight: 0 }))
    expect(chosen(pools, targets, 8).join('')).to.equal('aabaaaba')
  })

  it('are chosen by their free places', async () => {
    const pools = new Pools(1)
    const targets = targetsWith(keyed('a', { concurrency: 2 }), keyed('b', { concurrency: 2 }))
    let end = (): void => {}
    const open = new Promise<void>((resolve) => (end = resolve))
    const busy = [1, 2].map(() => pools.during(targets[0]!, caller, () => open))
    expect(chosen(pools, targets, 10).filter((name) => name === 'b')).to.have.lengthOf(10)
    end()
    await Promise.all(busy)
  })

  it('are not asked while they cool down, but for other models', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    await failureOf(pools.during(target!, caller, failing('limited')).then(() => {}))
    expect(pools.readyAt(target!)).to.be.closeTo(Date.now() + 5000, 500)
    expect(pools.readyAt({ ...target!, route: { ...route, model: 'another' } })).to.equal(0)
    expect(await pools.during(target!, caller, () => Promise.resolve('asked'))).to.equal(null)
  })

  it('are asked again by the call that met their limit, unless they are switched off', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    const again = { ...target!, isAgain: true } as const
    await failureOf(pools.during(target!, caller, failing('limited')).then(() => {}))
    expect(await pools.during(again, caller, () => Promise.resolve('asked'))).to.deep.equal({ done: 'asked' })
    pools.take(new Map(), new Set([nameOfKey({ upstream: 'u', key: 'a' })]), performance.now())
    expect(await pools.during(again, caller, () => Promise.resolve('asked'))).to.equal(null)
  })

  it('are off for every model once they are refused', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    await failureOf(pools.during(target!, caller, failing('refused')).then(() => {}))
    expect(pools.readyAt({ ...target!, route: { ...route, model: 'another' } })).to.be.above(Date.now() + 50_000)
    expect(pools.standingOf({ upstream: 'u', key: 'a' })).to.equal('off')
  })

  const off = (more: Partial<KeyState> = {}): KeyState => ({
    is: 'off',
    reason: 'refused',
    until: Date.now() - 1,
    since: Date.now() - 60_001,
    times: 1,
    ...more,
  })
  const name = nameOfKey({ upstream: 'u', key: 'a' })

  it('are tested by one call when their time has come, and work once that has begun', async () => {
    const over: string[] = []
    const pools = new Pools(1, {
      failed: () => {},
      tested: () => {},
      asked: () => {},
      works: (names) => over.push(...names),
    })
    pools.take(new Map([[name, off()]]), new Set(), performance.now())
    const [target] = targetsWith(keyed('a'))
    await pools.during(target!, caller, async (begun) => {
      expect(pools.readyAt(target!)).to.be.above(Date.now())
      begun()
      expect(pools.readyAt(target!)).to.equal(0)
    })
    expect(over).to.deep.equal([name])
  })

  it('are off for longer after each test that fails: 5, 30, 60 minutes', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    const pauses: number[] = []
    for (const times of [1, 2, 3]) {
      pools.take(new Map([[name, off({ times })]]), new Set(), performance.now())
      await failureOf(pools.during(target!, caller, failing('refused')).then(() => {}))
      pauses.push(Math.round((pools.readyAt(target!) - Date.now()) / 60_000))
    }
    expect(pauses).to.deep.equal([5, 30, 60])
  })

  it('do not work again by a success that began before they failed', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    await pools.during(target!, caller, async () => {
      pools.take(
        new Map([[name, off({ until: Date.now() + 60_000, since: Date.now() + 1 })]]),
        new Set(),
        performance.now(),
      )
    })
    expect(pools.readyAt(target!)).to.be.above(Date.now())
  })

  it('that an operator has switched off are never asked, whatever succeeds', async () => {
    const pools = new Pools(1)
    pools.take(new Map(), new Set([name]), performance.now())
    const [target] = targetsWith(keyed('a'))
    expect(pools.readyAt(target!)).to.equal(Infinity)
    expect(await pools.during(target!, caller, () => Promise.resolve('asked'))).to.equal(null)
  })

  it('keep what was learned here since the states of all were read', async () => {
    const pools = new Pools(1)
    const [target] = targetsWith(keyed('a'))
    const readAt = performance.now()
    await failureOf(pools.during(target!, caller, failing('limited')).then(() => {}))
    pools.take(new Map(), new Set(), readAt)
    expect(pools.readyAt(target!)).to.be.above(Date.now())
    pools.take(new Map(), new Set(), performance.now())
    expect(pools.readyAt(target!)).to.equal(0)
  })
})
