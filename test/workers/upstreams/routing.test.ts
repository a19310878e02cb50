import { expect } from 'chai'
import fc from 'fast-check'
import type { PoolKey } from '../../../src/shared/catalogue/catalogue.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type { FailureKind, KeyFault } from '../../../src/workers/upstreams/adapter.ts'
import { nextAttempt } from '../../../src/workers/upstreams/routing.ts'
import type { FailedTry, RoutingState, NextAttempt, Target } from '../../../src/workers/upstreams/routing.ts'
import { routeTo } from './sandbox-upstreams.ts'

const NOW = 1_000_000
const routesTo = (names: string) =>
  names.split('').map((name) => routeTo('openai', 'http://x.test', { upstream: { name } }))

const keyOf = (name: string): PoolKey => ({ name, secret: null, weight: 1 })
const nameOf = ({ route, key }: Target): string => `${route.upstream.name}${key.name}`

type Told = {
  modality?: Modality
  open?: Record<string, number>
  retryAfterMs?: number
  patienceMs?: number
  random?: number
  /** The keys of each route, and until when one takes no requests. */
  keys?: string
  cooling?: Record<string, number>
  preferred?: string
  /** The `contextLength` of each route. */
  lengths?: (number | undefined)[]
}

/** What a failure of this kind shows of a key. */
const FAULTS: Partial<Record<FailureKind, KeyFault>> = { rate_limited: 'limited', not_served: 'refused' }

/**
 * A situation, with a word for each attempt: `a:overloaded b:not_sent`, with keys `a1:rate_limited`. `long`: the chat
 * was too long.
 */
function situation(
  names: string,
  story: string,
  { modality = 'chat', open = {}, retryAfterMs, random = 1, lengths = [], keys = '1', ...more }: Told = {},
): RoutingState {
  const routes = routesTo(names).map((route, at) => ({ ...route, contextLength: lengths[at] }))
  const targets = routes.flatMap((route) => keys.split('').map((name) => ({ route, key: keyOf(name) })))
  const targetOf = (word: string): Target =>
    targets.find(({ route, key }) => `${route.upstream.name}${key.name}` === word.padEnd(2, keys[0]))!
  const failed = story
    .split(' ')
    .filter(Boolean)
    .map((word): FailedTry => {
      const [name, what] = word.split(':') as [string, FailureKind | 'long']
      const error =
        what === 'long'
          ? new UpstreamError('rejected', 'x', { fault: 'context_length_exceeded' })
          : new UpstreamError(what, 'x', { retryAfterMs, keyFault: FAULTS[what] })
      return { ...targetOf(name), error, at: NOW }
    })
  return {
    modality,
    targets,
    failed,
    openUntil: (upstream) => open[upstream] ?? 0,
    readyAt: (target) => more.cooling?.[nameOf(target)] ?? 0,
    choose: (ready) => ready[0]!,
    preferred: more.preferred === undefined ? undefined : targetOf(more.preferred),
    now: NOW,
    backoffMs: 500,
    random: () => random,
    patienceMs: more.patienceMs,
  }
}

const told = (step: NextAttempt): string =>
  step.is === 'try' ? `${nameOf(step).replace(/1$/, '')} after ${step.afterMs}` : step.is

const STORIES: [names: string, story: string, chat: string, media: string][] = [
  ['ab', '', 'a after 0', 'a after 0'],
  ['ab', 'a:not_sent', 'b after 0', 'b after 0'],
  ['ab', 'a:rate_limited', 'b after 0', 'b after 0'],
  ['ab', 'a:overloaded', 'b after 0', 'b after 0'],
  ['ab', 'a:unknown', 'b after 0', 'give_up'],
  ['ab', 'a:rejected', 'give_up', 'give_up'],
  ['ab', 'a:aborted', 'give_up', 'give_up'],
  ['ab', 'a:overloaded b:rejected', 'give_up', 'give_up'],
  ['ab', 'a:unknown b:unknown', 'give_up', 'give_up'],
  ['ab', 'a:overloaded b:overloaded', 'a after 500', 'a after 500'],
  ['ab', 'a:overloaded b:overloaded a:overloaded', 'b after 500', 'b after 500'],
  ['ab', 'a:overloaded b:overloaded a:overloaded b:overloaded a:overloaded b:overloaded', 'give_up', 'give_up'],
  ['ab', 'a:unknown b:overloaded', 'b after 500', 'b after 500'],
  ['abc', 'a:unknown b:unknown', 'c after 0', 'give_up'],
  ['a', 'a:unknown', 'a after 500', 'give_up'],
  ['a', 'a:unknown a:unknown', 'give_up', 'give_up'],
  ['a', 'a:overloaded', 'a after 500', 'a after 500'],
  ['a', 'a:overloaded a:overloaded', 'a after 1000', 'a after 1000'],
  ['a', 'a:overloaded a:overloaded a:overloaded', 'give_up', 'give_up'],
  ['', '', 'give_up', 'give_up'],
]

describe('the choice of the next upstream', () => {
  for (const [names, story, chat, media] of STORIES) {
    it(`of "${names}" after "${story}" is: ${chat === media ? chat : `for chat ${chat}, for media ${media}`}`, () => {
      expect(told(nextAttempt(situation(names, story)))).to.equal(chat)
      for (const modality of ['image', 'video'] as const)
        expect(told(nextAttempt(situation(names, story, { modality })))).to.equal(media)
    })
  }

  describe('of a chat that was too long', () => {
    const LONG: [what: string, lengths: (number | undefined)[], story: string, next: string][] = [
      ['is a later one that states a longer context', [10, 20], 'a:long', 'b after 0'],
      ['is no one that states none', [10, undefined], 'a:long', 'give_up'],
      ['is no one where the first states none', [undefined, 20], 'a:long', 'give_up'],
      ['is no one whose context is as long', [10, 10], 'a:long', 'give_up'],
      ['passes over one whose context is shorter', [10, 5, 20], 'a:long', 'c after 0'],
      ['has to be longer than each that refused it', [10, 20, 15], 'a:long b:long', 'give_up'],
      ['is not the first again, which refused it', [10, 20], 'a:long b:overloaded', 'b after 500'],
      ['may be one that was overloaded before', [20, 10], 'a:overloaded b:long', 'a after 500'],
    ]
    for (const [what, lengths, story, next] of LONG) {
      it(`${what}: ${lengths.join(', ')} after "${story}"`, () => {
        expect(told(nextAttempt(situation('abc'.slice(0, lengths.length), story, { lengths })))).to.equal(next)
      })
    }
  })

  it('waits as long as the upstream asks, but only before the same one', () => {
    expect(told(nextAttempt(situation('ab', 'a:rate_limited', { retryAfterMs: 7000 })))).to.equal('b after 0')
    expect(told(nextAttempt(situation('a', 'a:rate_limited', { retryAfterMs: 1500 })))).to.equal('a after 1500')
    expect(told(nextAttempt(situation('a', 'a:rate_limited', { retryAfterMs: 0 })))).to.equal('a after 0')
    const long = { retryAfterMs: 7000 }
    expect(told(nextAttempt(situation('a', 'a:overloaded', long)))).to.equal('a after 7000')
    expect(told(nextAttempt(situation('a', 'a:overloaded', { ...long, patienceMs: 2000 })))).to.equal('give_up')
    expect(told(nextAttempt(situation('a', 'a:overloaded', { patienceMs: 2000 })))).to.equal('a after 500')
  })

  it('counts the wait from the failure', () => {
    const later = { ...situation('a', 'a:rate_limited', { retryAfterMs: 1500 }), now: NOW + 1000 }
    expect(told(nextAttempt(later))).to.equal('a after 500')
  })

  it('returns to the upstream that is ready first', () => {
    const one = situation('ab', 'a:rate_limited b:overloaded')
    const asking = {
      ...one,
      failed: [
        { ...one.failed[0]!, error: new UpstreamError('rate_limited', 'x', { retryAfterMs: 60_000 }) },
        one.failed[1]!,
      ],
    }
    expect(told(nextAttempt(asking))).to.equal('b after 500')
  })

  describe('with keys', () => {
    const POOLS: [what: string, names: string, story: string, more: Told, next: string][] = [
      ['goes on to another key after a limit', 'ab', 'a1:rate_limited', {}, 'a2 after 0'],
      ['goes on to another key after a refused one', 'ab', 'a1:not_served', {}, 'a2 after 0'],
      ['goes on to the next upstream once all were asked', 'ab', 'a1:rate_limited a2:not_served', {}, 'b after 0'],
      ['asks no key twice', 'a', 'a1:rate_limited a2:rate_limited', {}, 'give_up'],
      ['goes on to the next upstream where this one fails', 'ab', 'a1:overloaded', {}, 'b after 0'],
      ['returns to an overloaded upstream with another key', 'a', 'a1:overloaded', {}, 'a2 after 500'],
      ['passes over a key that cools down', 'ab', '', { cooling: { a1: NOW + 9000 } }, 'a2 after 0'],
      ['waits for the first', 'ab', '', { cooling: { a1: NOW + 1900, a2: NOW + 700 } }, 'a2 after 700'],
      ['does not wait for long', 'ab', '', { cooling: { a1: NOW + 2001, a2: NOW + 9000 } }, 'b after 0'],
      ['gives up where all cool down', 'a', '', { cooling: { a1: NOW + 2001, a2: Infinity } }, 'give_up'],
      ['waits for none that is switched off', 'a', '', { cooling: { a1: Infinity, a2: NOW + 100 } }, 'a2 after 100'],
      ['prefers what its session had', 'ab', '', { preferred: 'b2' }, 'b2 after 0'],
      ['prefers nothing that cools down', 'ab', '', { preferred: 'b2', cooling: { b2: NOW + 1 } }, 'a after 0'],
      ['prefers nothing whose circuit is open', 'ab', '', { preferred: 'b2', open: { b: NOW + 1 } }, 'a after 0'],
      ['prefers nothing after a failure', 'ab', 'b2:overloaded', { preferred: 'b2' }, 'a after 0'],
    ]
    for (const [what, names, story, more, next] of POOLS)
      it(what, () => expect(told(nextAttempt(situation(names, story, { keys: '12', ...more })))).to.equal(next))
  })

  it('spreads the attempts of many callers', () => {
    expect(told(nextAttempt(situation('a', 'a:overloaded', { random: 0 })))).to.equal('a after 250')
  })

  it('tries upstreams with an open circuit only after all others have failed', () => {
    const open = { a: NOW + 9000 }
    expect(told(nextAttempt(situation('ab', '', { open })))).to.equal('b after 0')
    expect(told(nextAttempt(situation('ab', 'b:overloaded', { open })))).to.equal('a after 0')
  })

  it('tries the upstream whose circuit closes first if every circuit is open', () => {
    expect(told(nextAttempt(situation('abc', '', { open: { a: NOW + 9000, b: NOW + 100, c: NOW + 200 } })))).to.equal(
      'b after 0',
    )
  })

  const kinds = fc.constantFrom<FailureKind>(
    'not_sent',
    'rate_limited',
    'overloaded',
    'unknown',
    'rejected',
    'late',
    'aborted',
  )
  const world = fc.record({
    modality: fc.constantFrom<Modality>('chat', 'image', 'video'),
    routes: fc.integer({ min: 1, max: 4 }),
    fates: fc.array(kinds, { minLength: 20, maxLength: 20 }),
    open: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }),
  })

  it('always ends, and resends what may have been accepted only for a chat, once to each', () => {
    fc.assert(
      fc.property(world, ({ modality, routes: count, fates, open }) => {
        const targets = routesTo('abcd'.slice(0, count)).map((route) => ({ route, key: keyOf('1') }))
        const failed: FailedTry[] = []
        for (const kind of fates) {
          const openUntil = (name: string) => open['abcd'.indexOf(name)]!
          const more = { readyAt: () => 0, choose: (ready: readonly Target[]) => ready[0]!, random: () => 0.5 }
          const step = nextAttempt({ modality, targets, failed, openUntil, now: NOW, backoffMs: 1, ...more })
          if (step.is === 'give_up') break
          failed.push({ route: step.route, key: step.key, error: new UpstreamError(kind, 'x'), at: NOW })
        }
        expect(failed.length).to.be.within(1, 3 * count)
        const accepted = failed.filter(({ error }) => error.kind === 'unknown')
        expect(accepted.length).to.be.at.most(modality === 'chat' ? Math.max(count, 2) : 1)
        const final = failed.findIndex(
          ({ error }) => error.kind === 'rejected' || error.kind === 'late' || error.kind === 'aborted',
        )
        expect(final).to.be.oneOf([-1, failed.length - 1])
      }),
    )
  })
})
