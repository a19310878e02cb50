import { expect } from 'chai'
import type { KeyState } from '../../../src/shared/operators/key-states.ts'
import { nameOfKey } from '../../../src/shared/operators/key-states.ts'
import type { KeyFault } from '../../../src/workers/upstreams/adapter.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { isOfWholeKey, stateAfter } from '../../../src/workers/upstreams/key-health.ts'
import { Pools } from '../../../src/workers/upstreams/pools.ts'
import { nextAttempt } from '../../../src/workers/upstreams/routing.ts'
import type { FailedTry, Target } from '../../../src/workers/upstreams/routing.ts'
import { routeTo } from './sandbox-upstreams.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const route = routeTo('openai', 'http://x.test', { upstream: { name: 'u' } })
const targets = ['a', 'b', 'c'].map((name): Target => ({ route, key: { name, secret: name, weight: 1 } }))

/** When keys fail, in ms from the beginning. */
const OUTAGES: { key: string; from: number; to: number; fault: KeyFault }[] = [
  { key: 'a', from: 10 * MINUTE, to: 14 * MINUTE, fault: 'limited' },
  { key: 'b', from: 30 * MINUTE, to: 36 * MINUTE, fault: 'refused' },
]

/** What each key has in its cache of the agent's chat, as upstreams keep it: for five minutes, 20 blocks back. */
const CACHE = { ms: 5 * MINUTE, blocks: 20 }
const TURN = { everyMs: 20 * SECOND, blocks: 12, tokens: 400, firstTokens: 40_000 }

/** Numbers from 0 to 1, the same ones each time. */
function numbers(): () => number {
  let state = 7
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** An hour of an agent, among other calls, over three keys. `early`: how often a key was asked while it cooled down. */
function hourOf({ hasSession }: { hasSession: boolean }) {
  const random = numbers()
  const pools = new Pools(1)
  const states = new Map<string, KeyState>()
  const caches = new Map<string, { at: number; blocks: number; tokens: number }>()
  const result = { calls: 0, lost: 0, early: 0, input: 0, cached: 0 }
  const namesOf = ({ key }: Target) => [
    nameOfKey({ upstream: 'u', key: key.name }),
    nameOfKey({ upstream: 'u', key: key.name, model: route.model }),
  ]
  const readyAt = (target: Target): number => Math.max(...namesOf(target).map((name) => states.get(name)?.until ?? 0))

  const call = (at: number, preferred?: Target): Target | null => {
    let now = at
    const failed: FailedTry[] = []
    const state = { modality: 'chat' as const, targets, failed, openUntil: () => 0, readyAt, choose: pools.choose }
    for (;;) {
      const step = nextAttempt({ ...state, preferred, now, backoffMs: 500, random })
      if (step.is === 'give_up') return null
      now += step.afterMs
      if (readyAt(step) > now) result.early += 1
      const outage = OUTAGES.find(({ key, from, to }) => key === step.key.name && now >= from && now < to)
      if (!outage) {
        for (const name of namesOf(step)) states.delete(name)
        return targets.find(({ key }) => key === step.key)!
      }
      const { fault } = outage
      const name = namesOf(step)[isOfWholeKey(fault) ? 0 : 1]!
      states.set(name, stateAfter(states.get(name), { keyFault: fault, resetMs: null }, now))
      const error = new UpstreamError(fault === 'limited' ? 'rate_limited' : 'not_served', 'x', { keyFault: fault })
      failed.push({ route, key: step.key, error, at: now })
    }
  }

  let pin: Target | undefined
  for (let at = 0, turn = 1; at < 60 * MINUTE; at += TURN.everyMs, turn += 1) {
    for (let others = Math.floor(random() * 4); others > 0; others -= 1) if (!call(at)) result.lost += 1
    const served = call(at, hasSession ? pin : undefined)
    result.calls += 1
    if (!served) {
      result.lost += 1
      continue
    }
    pin = served
    const [blocks, tokens] = [turn * TURN.blocks, TURN.firstTokens + turn * TURN.tokens]
    const warm = caches.get(served.key.name)
    if (warm && at - warm.at < CACHE.ms && blocks - warm.blocks <= CACHE.blocks) result.cached += warm.tokens
    result.input += tokens
    caches.set(served.key.name, { at, blocks, tokens })
  }
  return { ...result, share: result.cached / result.input }
}

describe("an hour of an agent's calls over three keys, two of which fail for a while", () => {
  it('reads at least 95 % of its input from caches with a session, and at most 40 % without', () => {
    expect(hourOf({ hasSession: true }).share).to.be.at.least(0.95)
    expect(hourOf({ hasSession: false }).share).to.be.at.most(0.4)
  })

  it('loses no call, and asks no key while it cools down', () => {
    for (const hasSession of [true, false]) expect(hourOf({ hasSession })).to.include({ calls: 180, lost: 0, early: 0 })
  })
})
