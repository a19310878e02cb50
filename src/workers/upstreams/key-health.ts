/** What a refusal means for a key, as a pure function: the table of docs/upstreams/keys.md#health. */
import type { KeyState } from '../../shared/operators/key-states.ts'
import type { KeyFault } from './adapter.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The longest cool-down that an upstream may state, in ms. */
const MOST_COOLING_MS = HOUR

/** The pauses after refusals in a row, in ms; the last one goes on. */
const PAUSES = {
  limited: [5, 10, 20, 40, 60].map((seconds) => seconds * SECOND),
  no_model: [10 * MINUTE],
  refused: [MINUTE, 5 * MINUTE, 30 * MINUTE, HOUR],
  empty: [10 * MINUTE, HOUR, 6 * HOUR],
} as const satisfies Record<KeyFault, readonly number[]>

const REASONS = {
  limited: 'rate_limited',
  no_model: 'model_not_found',
  refused: 'refused',
  empty: 'no_credit',
} as const satisfies Record<KeyFault, KeyState['reason']>

/** Whether a refusal is about the key with every model. */
export const isOfWholeKey = (fault: KeyFault): boolean => fault === 'refused' || fault === 'empty'

/**
 * The state of a key, or of a key for a model, after a refusal. Of two deadlines the later one applies; what fails
 * while the key is not asked any more was sent before, and does not count as a failure in a row; a failed test does.
 * @param resetMs when the upstream ends its limit, in ms from now; null where it does not state that
 * @param now Unix ms
 */
export function stateAfter(
  before: KeyState | undefined,
  { keyFault, resetMs }: { keyFault: KeyFault; resetMs: number | null },
  now: number,
): KeyState {
  const reason = REASONS[keyFault]
  const isRepeated = before?.reason === reason && (before.isTested || now >= before.until)
  const times = Math.max(1, before?.reason === reason ? before.times + (isRepeated ? 1 : 0) : 1)
  const pauses = PAUSES[keyFault]
  const isStated = keyFault === 'limited' && resetMs !== null
  const pause = isStated ? Math.min(resetMs, MOST_COOLING_MS) : pauses[Math.min(times, pauses.length) - 1]!
  const until = Math.max(before?.until ?? 0, now + pause)
  return { is: isOfWholeKey(keyFault) ? 'off' : 'cooling', reason, until, since: now, times: isStated ? 0 : times }
}
