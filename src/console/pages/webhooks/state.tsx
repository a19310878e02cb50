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

export function State({ webhook: { disabledReason, failingSince } }: { webhook: Webhook }) {
  if (disabledReason !== null) return <span class="status rejected">{REASONS[disabledReason]}</span>
  if (failingSince === null) return <span class="status succeeded">Enabled</span>
  return (
    <span class="status failed">
      Failing since <Time iso={failingSince} />
    </span>
  )
}

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

/** Why a try was no success. */
const NOTES: Record<NonNullable<Delivery['note']>, string> = {
  not_allowed: 'address not allowed',
  unresolved: 'the name does not resolve',
  unreachable: 'no connection',
  untrusted: 'no valid certificate',
  timeout: 'no answer in time',
  no_answer: 'the connection broke off',
  refused: 'refused',
  no_secret: 'secret unreadable: rotate it',
}

type Answer = { status: number | null; ms: number | null; note: Delivery['note'] }

/** What a try was answered; nothing before it has ended. */
export function answerText({ status, ms, note }: Answer): string | null {
  if (note !== null && status === null) return NOTES[note]
  const answered = [status !== null && String(status), ms !== null && `in ${number(ms)} ms`].filter(Boolean)
  return answered.length > 0 ? answered.join(' ') : null
}

/** The last try of a delivery. */
export const lastTryOf = ({ answerStatus, answerMs, note }: Delivery): Answer => ({
  status: answerStatus,
  ms: answerMs,
  note,
})
