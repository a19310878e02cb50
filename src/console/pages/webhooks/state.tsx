/**
 * Whether a webhook is sent to, and how far a delivery is: words with a dot next to them, as calls have.
 */
import { t } from '../../language/language.ts'
import type { Delivery, Webhook } from '../../api/webhooks.ts'
import { Time } from '../../parts/basics.tsx'
import { number } from '../../parts/format.ts'

const words = t.webhooks

export function State({ webhook: { disabledReason, failingSince } }: { webhook: Webhook }) {
  if (disabledReason !== null) return <span class="status rejected">{words.disabled[disabledReason]}</span>
  if (failingSince === null) return <span class="status succeeded">{words.enabled}</span>
  return <span class="status failed">{words.failingSince(<Time iso={failingSince} />)}</span>
}

/** The class of each state's dot. */
const DOTS: Record<Delivery['status'], string> = {
  queued: 'queued',
  sending: 'running',
  delivered: 'succeeded',
  failed: 'failed',
  held: 'rejected',
}

/** How far a delivery is, and when it is tried again. */
export const DeliveryState = ({ delivery: { status, tries, nextTryAt } }: { delivery: Delivery }) => (
  <span>
    <span class={`status ${DOTS[status]}`}>{words.states[status]}</span>
    {tries > 0 && nextTryAt !== null && <small class="soft">{words.nextTry(<Time iso={nextTryAt} />)}</small>}
  </span>
)

type Answer = { status: number | null; ms: number | null; note: Delivery['note'] }

/** What a try was answered; nothing before it has ended. */
export function answerText({ status, ms, note }: Answer): string | null {
  if (note !== null && status === null) return words.notes[note]
  const answered = [status !== null && String(status), ms !== null && words.within(number(ms))].filter(Boolean)
  return answered.length > 0 ? answered.join(' ') : null
}

/** The last try of a delivery. */
export const lastTryOf = ({ answerStatus, answerMs, note }: Delivery): Answer => ({
  status: answerStatus,
  ms: answerMs,
  note,
})
