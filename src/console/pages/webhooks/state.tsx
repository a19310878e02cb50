/**
 * Whether a webhook is sent to, and how far a delivery is: words with a dot next to them, as calls have.
 */
import type { Delivery, Webhook } from '../../api/webhooks.ts'
import { Time } from '../../parts/basics.tsx'
import { number } from '../../parts/format.ts'

const REASONS: Record<NonNullable<Webhook['disabledReason']>, string> = {
  owner: 'Disabled',
  gone: 'Disabled: answered 410',
  failing: 'Disabled: failed for five days',
}

export const State = ({ webhook: { disabledReason } }: { webhook: Webhook }) =>
  disabledReason === null ? (
    <span class="status succeeded">Enabled</span>
  ) : (
    <span class="status rejected">{REASONS[disabledReason]}</span>
  )

/** The class of each state's dot, and its word. */
const STATES: Record<Delivery['status'], readonly [dot: string, word: string]> = {
  queued: ['queued', 'Queued'],
  sending: ['running', 'Sending'],
  delivered: ['succeeded', 'Delivered'],
  failed: ['failed', 'Failed'],
  held: ['rejected', 'Held'],
}

/** How far a delivery is, and when it is tried again. */
export const DeliveryState = ({ delivery: { status, tries, nextTryAt } }: { delivery: Delivery }) => (
  <span>
    <span class={`status ${STATES[status][0]}`}>{STATES[status][1]}</span>
    {tries > 0 && nextTryAt !== null && (
      <small class="soft">
        {' '}
        next try <Time iso={nextTryAt} />
      </small>
    )}
  </span>
)

const NOTES: Record<NonNullable<Delivery['note']>, string> = {
  not_allowed: 'address not allowed',
  no_answer: 'no answer',
  refused: 'refused',
  no_secret: 'secret unreadable: rotate it',
}

/** What the last try was answered; nothing before the first one. */
export function answerText({ answerStatus, answerMs, note }: Delivery): string | null {
  const answered = [
    answerStatus !== null && String(answerStatus),
    answerMs !== null && `in ${number(answerMs)} ms`,
  ].filter(Boolean)
  if (note !== null && answerStatus === null) return NOTES[note]
  return answered.length > 0 ? answered.join(' ') : null
}
