import { expect } from 'chai'
import type { KeyState } from '../../../src/shared/operators/key-states.ts'
import type { KeyFault } from '../../../src/workers/upstreams/adapter.ts'
import { statusFailure } from '../../../src/workers/upstreams/failures.ts'
import { limitEndsInMs } from '../../../src/workers/upstreams/pauses.ts'
import { stateAfter } from '../../../src/workers/upstreams/key-health.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000

/** The pauses after failures, each at the moment the one before is over. */
function pauses(keyFault: KeyFault, times: number, resetMs: number | null = null): number[] {
  let state: KeyState | undefined
  let now = NOW
  return Array.from({ length: times }, () => {
    state = stateAfter(state, { keyFault, resetMs }, now)
    const pause = state.until - now
    now = state.until
    return pause
  })
}

describe('the health of a key', () => {
  const TABLE: [what: string, fault: KeyFault, pauses: number[], resetMs?: number][] = [
    ['a limit without an end: 5 s, doubling to 60 s', 'limited', [5, 10, 20, 40, 60, 60].map((one) => one * 1000)],
    ['a limit with an end: until then', 'limited', [90_000, 90_000], 90_000],
    ['a limit with an end: an hour at most', 'limited', [60 * MINUTE], 86_400_000],
    ['a refused key: 1, 5, 30 min, then hourly', 'refused', [1, 5, 30, 60, 60].map((one) => one * MINUTE)],
    ['an empty account: 10 min, 1 h, then 6 h', 'empty', [10, 60, 360, 360].map((one) => one * MINUTE)],
    ['a model that is not there: 10 min', 'no_model', [10, 10].map((one) => one * MINUTE)],
  ]
  for (const [what, fault, expected, resetMs] of TABLE)
    it(`is lost by ${what}`, () => expect(pauses(fault, expected.length, resetMs)).to.deep.equal(expected))

  it('keeps the later of two deadlines, and counts what was sent before as one failure', () => {
    const long = stateAfter(undefined, { keyFault: 'limited', resetMs: 50_000 }, NOW)
    expect(stateAfter(long, { keyFault: 'limited', resetMs: null }, NOW + 10).until).to.equal(NOW + 50_000)
    const first = stateAfter(undefined, { keyFault: 'limited', resetMs: null }, NOW)
    const others = [1, 2, 3].reduce(
      (state, ms) => stateAfter(state, { keyFault: 'limited', resetMs: null }, NOW + ms),
      first,
    )
    expect(others).to.include({ times: 1, until: NOW + 5003 })
  })

  const HEADERS: [headers: Record<string, string>, ms: number | null][] = [
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '7', 'x-ratelimit-reset-tokens': '2s', 'x-ratelimit-remaining-tokens': '0' }, 7000],
    [{ 'x-ratelimit-reset-tokens': '1m2.5s', 'x-ratelimit-remaining-tokens': '0' }, 62_500],
    [{ 'x-ratelimit-reset-tokens': '9s', 'x-ratelimit-remaining-tokens': '1' }, null],
    [{ 'x-ratelimit-reset-tokens': '9s' }, null],
    [
      {
        'x-ratelimit-reset-tokens': '9s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-remaining-requests': '0',
      },
      9000,
    ],
    [{ 'x-ratelimit-reset-requests': '30', 'x-ratelimit-remaining-requests': '0' }, 30_000],
    [{ 'x-ratelimit-reset-requests': `${NOW / 1000 + 3}`, 'x-ratelimit-remaining-requests': '0' }, 3000],
    [{ 'x-ratelimit-reset': `${NOW + 4000}`, 'x-ratelimit-remaining': '0' }, 4000],
    [{ 'x-ratelimit-reset-requests': new Date(NOW + 5000).toISOString(), 'x-ratelimit-remaining-requests': '0' }, 5000],
    [{ 'x-ratelimit-reset-requests': 'soon', 'x-ratelimit-remaining-requests': '0' }, null],
  ]
  for (const [headers, ms] of HEADERS)
    it(`reads the end of a limit in ${JSON.stringify(headers)}`, () => expect(limitEndsInMs(headers, NOW)).to.equal(ms))

  const ANSWERS: [status: number, error: object, fault: KeyFault | null][] = [
    [429, { message: 'slow down' }, 'limited'],
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'empty'],
    [402, {}, 'empty'],
    [401, { message: 'Incorrect API key provided' }, 'refused'],
    [403, { message: 'Country not supported' }, 'refused'],
    [403, { message: 'flagged by our safety system', code: 'content_policy_violation' }, null],
    [404, { code: 'model_not_found', message: 'The model does not exist' }, 'no_model'],
    [404, {}, 'no_model'],
    [404, { message: 'No such file: file-123' }, null],
    [400, { message: 'bad' }, null],
    [503, {}, null],
    [500, {}, null],
  ]
  for (const [status, error, fault] of ANSWERS)
    it(`is ${fault ?? 'not'} judged by ${status} ${JSON.stringify(error)}`, () =>
      expect(statusFailure(status, {}, JSON.stringify({ error })).keyFault).to.equal(fault))
})
