import { expect } from 'chai'
import fc from 'fast-check'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type { FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import { nextAttempt } from '../../../src/workers/upstreams/routing.ts'
import type { FailedTry, RoutingState, NextAttempt } from '../../../src/workers/upstreams/routing.ts'
import { routeTo } from './sandbox-upstreams.ts'

const NOW = 1_000_000
const routesTo = (names: string) =>
  names.split('').map((name) => routeTo('openai', 'http://x.test', { upstream: { name } }))

type Told = {
  modality?: Modality
  open?: Record<string, number>
  retryAfterMs?: number
  random?: number
  /** The `contextLength` of each route. */
  lengths?: (number | undefined)[]
}

/** A situation, with a word for each attempt: `a:overloaded b:not_sent`. `long`: the chat was too long. */
function situation(
  names: string,
  story: string,
  { modality = 'chat', open = {}, retryAfterMs, random = 1, lengths = [] }: Told = {},
): RoutingState {
  const routes = routesTo(names).map((route, at) => ({ ...route, contextLength: lengths[at] }))
  const failed = story
    .split(' ')
    .filter(Boolean)
    .map((word): FailedTry => {
      const [name, what] = word.split(':') as [string, FailureKind | 'long']
      const error =
        what === 'long'
          ? new UpstreamError('rejected', 'x', { fault: 'context_length_exceeded' })
          : new UpstreamError(what, 'x', { retryAfterMs })
      return {
        route: routes.find(({ upstream }) => upstream.name === name)!,
        error,
        at: NOW,
      }
    })
  return {
    modality,
    routes,
    failed,
    openUntil: (upstream) => open[upstream] ?? 0,
    now: NOW,
    backoffMs: 500,
    random: () => random,
  }
}

const told = (step: NextAttempt): string =>
  step.is === 'try' ? `${step.route.upstream.name} after ${step.afterMs}` : step.is

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
    expect(told(nextAttempt(situation('a', 'a:rate_limited', { retryAfterMs: 7000 })))).to.equal('a after 7000')
    expect(told(nextAttempt(situation('a', 'a:rate_limited', { retryAfterMs: 0 })))).to.equal('a after 0')
  })

  it('counts the wait from the failure', () => {
    const later = { ...situation('a', 'a:rate_limited', { retryAfterMs: 7000 }), now: NOW + 6000 }
    expect(told(nextAttempt(later))).to.equal('a after 1000')
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
        const routes = routesTo('abcd'.slice(0, count))
        const failed: FailedTry[] = []
        for (const kind of fates) {
          const openUntil = (name: string) => open['abcd'.indexOf(name)]!
          const step = nextAttempt({ modality, routes, failed, openUntil, now: NOW, backoffMs: 1, random: () => 0.5 })
          if (step.is === 'give_up') break
          failed.push({ route: step.route, error: new UpstreamError(kind, 'x'), at: NOW })
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
