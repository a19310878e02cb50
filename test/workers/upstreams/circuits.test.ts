import { expect } from 'chai'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type { FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import { createHealth } from '../../../src/workers/upstreams/circuits.ts'
import type { Health } from '../../../src/workers/upstreams/circuits.ts'
import { callerUntil, failureOf, routeTo } from './sandbox-upstreams.ts'
import { until } from '../../../scripts/harness/until.ts'

/** Longer than any test takes. */
const COOL_DOWN_MS = 600_000

/** No success is told as one that goes on. */
const NEVER_MS = Infinity

/** Waited for by tests; long enough to see the circuit open before it is over. */
const SHORT_MS = 1000
const never = callerUntil(new AbortController().signal)
const upstreamOf = (concurrency?: number) =>
  routeTo('openai', 'http://x.test', { upstream: { name: 'a', concurrency } }).upstream

const fail = (health: Health, kind: FailureKind) =>
  failureOf(health.during(upstreamOf(), never, () => Promise.reject(new UpstreamError(kind, 'x'))))

async function failTimes(health: Health, times: number, kind: FailureKind): Promise<void> {
  for (let at = 0; at < times; at += 1) await fail(health, kind)
}

const stateOf = (health: Health) => health.snapshot()[0]?.state

/** Waits until the circuit of `a` would allow a probe. */
async function cooled(health: Health): Promise<void> {
  await until('the cool-down to be over', () => health.openUntil('a') === 0)
}

/** Work that ends on request. */
function held() {
  let end = (): void => {}
  const done = new Promise<void>((resolve) => {
    end = resolve
  })
  return { work: () => done, end }
}

describe('the health of an upstream', () => {
  let health: Health
  beforeEach(() => {
    health = createHealth(1, { failures: 3, coolDownMs: COOL_DOWN_MS, stillWorksMs: NEVER_MS })
  })

  const succeed = () => health.during(upstreamOf(), never, () => Promise.resolve())

  /** Writes down what it hears. `takes`: whether what works can be noted. */
  const listening = (told: string[], takes = () => true) => ({
    opened: () => told.push('opened'),
    works: async () => {
      told.push('works')
      if (!takes()) throw new Error('not noted')
    },
    stillWorks: () => told.push('still works'),
  })

  for (const kind of ['not_sent', 'overloaded', 'unknown', 'late'] as const) {
    it(`is bad after several failures in a row that are ${kind}`, async () => {
      await failTimes(health, 2, kind)
      expect([stateOf(health), health.openUntil('a')]).to.deep.equal(['closed', 0])
      await fail(health, kind)
      expect(stateOf(health)).to.equal('open')
      expect(health.openUntil('a')).to.be.closeTo(Date.now() + COOL_DOWN_MS, COOL_DOWN_MS)
    })
  }

  for (const kind of ['rejected', 'rate_limited', 'not_served', 'aborted'] as const) {
    it(`is not judged by a request that was ${kind}`, async () => {
      await failTimes(health, 10, kind)
      expect(stateOf(health)).to.equal('closed')
    })
  }

  it('reports the first success, and the first after each opening, until it is taken', async () => {
    const told: string[] = []
    let isTaken = true
    const listener = listening(told, () => isTaken)
    health = createHealth(1, { failures: 2, coolDownMs: SHORT_MS, stillWorksMs: NEVER_MS }, listener)
    for (let time = 0; time < 3; time += 1) await succeed()
    expect(told).to.deep.equal(['works'])
    await failTimes(health, 2, 'unknown')
    // Past its circuit: it stays open.
    await succeed()
    expect(told).to.deep.equal(['works', 'opened'])
    await cooled(health)
    isTaken = false
    await succeed()
    await until('it is known that this was not noted', () => Promise.resolve(true))
    isTaken = true
    for (let time = 0; time < 3; time += 1) await succeed()
    expect(told).to.deep.equal(['works', 'opened', 'works', 'works'])
  })

  it('reports now and then that an upstream goes on working, and not while its circuit is open', async () => {
    const told: string[] = []
    health = createHealth(1, { failures: 2, coolDownMs: COOL_DOWN_MS, stillWorksMs: 200 }, listening(told))
    const begun = performance.now()
    await until('it was said twice', async () => {
      await succeed()
      return told.length === 3
    })
    expect(performance.now() - begun).to.be.at.least(395)
    await failTimes(health, 2, 'unknown')
    for (let time = 0; time < 3; time += 1) await succeed()
    expect(told).to.deep.equal(['works', 'still works', 'still works', 'opened'])
  })

  it('is judged only by failures in a row', async () => {
    await failTimes(health, 2, 'overloaded')
    await succeed()
    await failTimes(health, 2, 'overloaded')
    expect(stateOf(health)).to.equal('closed')
  })

  it('does not block a request that must be sent', async () => {
    await failTimes(health, 3, 'unknown')
    expect(await health.during(upstreamOf(), never, () => Promise.resolve('done'))).to.equal('done')
    expect(stateOf(health)).to.equal('open')
  })

  it('is probed by one request after the cool-down, while others are sent elsewhere', async () => {
    health = createHealth(1, { failures: 3, coolDownMs: SHORT_MS, stillWorksMs: NEVER_MS })
    await failTimes(health, 3, 'unknown')
    await cooled(health)
    const { work, end } = held()
    const test = health.during(upstreamOf(), never, work)
    await Promise.resolve()
    expect(stateOf(health)).to.equal('half_open')
    expect(health.openUntil('a')).to.be.greaterThan(Date.now())
    expect(await health.during(upstreamOf(), never, () => Promise.resolve('not held up'))).to.equal('not held up')
    end()
    await test
    expect([stateOf(health), health.openUntil('a')]).to.deep.equal(['closed', 0])
  })

  it('stays bad if the probe fails', async () => {
    health = createHealth(1, { failures: 3, coolDownMs: SHORT_MS, stillWorksMs: NEVER_MS })
    await failTimes(health, 3, 'unknown')
    await cooled(health)
    await fail(health, 'not_sent')
    expect(stateOf(health)).to.equal('open')
    expect(health.openUntil('a')).to.be.greaterThan(0)
  })

  it('is unknown for unused upstreams', () => {
    expect([health.openUntil('b'), health.snapshot()]).to.deep.equal([0, []])
  })
})

describe('the concurrency of an upstream', () => {
  it('is never exceeded, and requests run in order', async () => {
    const health = createHealth(1)
    const order: number[] = []
    let now = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        health.during(upstreamOf(3), callerUntil(new AbortController().signal), async () => {
          order.push(at)
          most = Math.max(most, (now += 1))
          await new Promise(setImmediate)
          now -= 1
        }),
      ),
    )
    expect(most).to.equal(3)
    expect(order).to.deep.equal(Array.from({ length: 20 }, (_, at) => at))
    expect(health.snapshot()).to.deep.equal([{ upstream: 'a', state: 'closed', inFlight: 0, waiting: 0 }])
  })

  it('is not held by requests that were aborted or that failed', async () => {
    const health = createHealth(1)
    const { work, end } = held()
    const first = health.during(upstreamOf(1), never, work)
    const leaving = new AbortController()
    const second = failureOf(health.during(upstreamOf(1), callerUntil(leaving.signal), () => Promise.resolve()))
    const third = failureOf(
      health.during(upstreamOf(1), never, () => Promise.reject(new UpstreamError('unknown', 'x'))),
    )
    leaving.abort()
    expect(await second).to.include({ kind: 'aborted' })
    end()
    await first
    expect(await third).to.include({ kind: 'unknown' })
    expect(await health.during(upstreamOf(1), never, () => Promise.resolve('free'))).to.equal('free')
    expect(
      await failureOf(health.during(upstreamOf(1), callerUntil(leaving.signal), () => Promise.resolve())),
    ).to.include({
      kind: 'aborted',
    })
  })

  it('is never held by one account beyond its share, whether others wait or not', async () => {
    const health = createHealth(0.5)
    const begun: string[] = []
    const works = ['one', 'one', 'one', 'other'].map((account) => {
      const { work, end } = held()
      const done = health.during(upstreamOf(4), callerUntil(never.signal as AbortSignal, account), () => {
        begun.push(account)
        return work()
      })
      return { done, end }
    })
    await new Promise(setImmediate)
    expect(begun).to.deep.equal(['one', 'one', 'other'])
    expect(health.snapshot()[0]).to.include({ inFlight: 3, waiting: 1 })
    works[0]!.end()
    await works[0]!.done
    await new Promise(setImmediate)
    expect(begun).to.deep.equal(['one', 'one', 'other', 'one'])
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect(health.snapshot()[0]).to.include({ inFlight: 0, waiting: 0 })
  })
})
