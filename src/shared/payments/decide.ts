/** What a provider's state makes of an order. Pure: the rules of payments (docs/money.md#payments). */
import { publicId } from '../platform/ids.ts'
import { stepOf } from '../terms/currencies.ts'
import type { OrderState } from './provider.ts'
import type { PaymentRow, PaymentStatus } from './orders.ts'

/** A refund that an operator requested, and that the provider may not have yet. */
export type AskedRefund = { id: string; status: 'asked' | 'taken' | 'refused'; amountMinor: number }

const DECIDED = [
  'status',
  'review_reason',
  'failure',
  'customer',
  'session',
  'intent',
  'receipt_url',
  'expires_at',
  'page',
  'refunded_minor',
  'disputed_minor',
  'reversed',
] as const satisfies (keyof PaymentRow)[]

/** What changes of an order. `reversed`: credits, the bonus included. */
export type Verdict = Pick<PaymentRow, (typeof DECIDED)[number]>

/** The order before anything was read. */
const asItIs = (row: PaymentRow): Verdict => Object.fromEntries(DECIDED.map((name) => [name, row[name]])) as Verdict

/** The field in which a provider's state differs from the order; null if none does. */
export function differenceOf(row: PaymentRow, seen: OrderState): string | null {
  if (row.session !== null && seen.session !== row.session) return 'session'
  if (row.intent !== null && seen.intent !== null && seen.intent !== row.intent) return 'intent'
  if (seen.names !== publicId('payment', row.id)) return 'reference'
  if (seen.liveMode !== row.live_mode) return 'live_mode'
  if (seen.currency !== row.currency) return 'currency'
  if (seen.amountMinor !== row.amount_minor) return 'amount'
  return null
}

/** Why an order has failed that an operator dismissed. */
export const DISMISSED = 'dismissed'

/**
 * What may differ in a paid order: an operator has granted it all the same. Another session or intent is no state of
 * the order, no matter who granted it.
 */
const EXPLAINED: readonly (string | null)[] = [null, 'reference', 'live_mode', 'currency', 'amount']

/** Whether a dismissal holds: unless the order itself is paid later, with nothing that differs. */
const isDismissed = (row: PaymentRow, seen: OrderState, isDeleted: boolean): boolean =>
  row.failure === DISMISSED && (seen.state !== 'paid' || isDeleted || differenceOf(row, seen) !== null)

/** The credits to reverse for this much money: a share of them; for all of the money the bonus, too. */
export function reversedAt(
  row: Pick<PaymentRow, 'credits' | 'bonus' | 'amount_minor'>,
  { refundedMinor, disputedMinor }: { refundedMinor: number; disputedMinor: number },
): number {
  const gone = refundedMinor + disputedMinor
  if (gone >= row.amount_minor) return row.credits + row.bonus
  return Number((BigInt(row.credits) * BigInt(gone)) / BigInt(row.amount_minor))
}

/**
 * The most of a paid order that can be refunded while none of its credits that come back are spent, in minor units that
 * its currency can be refunded in.
 * @param remaining what is left of its grants, in credits
 */
export function refundableOf(row: PaymentRow, remaining: number): number {
  const { amount_minor: amount, refunded_minor: refunded, disputed_minor: disputedMinor } = row
  const isCovered = (minor: number): boolean =>
    reversedAt(row, { refundedMinor: refunded + minor, disputedMinor }) - row.reversed <= remaining
  const left = amount - refunded - disputedMinor
  if (left <= 0 || isCovered(left)) return Math.max(0, left)
  const step = stepOf(row.currency)
  let [least, most] = [0, Math.ceil(left / step)]
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2)
    if (isCovered(middle * step)) least = middle
    else most = middle
  }
  return least * step
}

/**
 * An amount at the provider in the order's own money. They are the same, unless an operator granted an order that was
 * paid with another amount: then it is the same share of what was ordered as of what was paid.
 */
function inOrdersMoney(row: PaymentRow, seen: OrderState, minor: number): number {
  if (seen.amountMinor === row.amount_minor || seen.amountMinor < 1) return Math.min(minor, row.amount_minor)
  const share = (BigInt(minor) * BigInt(row.amount_minor)) / BigInt(seen.amountMinor)
  return Math.min(Number(share), row.amount_minor)
}

/** The amount refunded: what the provider lists, and requested refunds that are not in its list yet. */
function refundedOf(seen: Pick<OrderState, 'refunds'>, asked: readonly AskedRefund[]): number {
  const known = new Set(seen.refunds.map(({ ours }) => ours))
  const listed = seen.refunds.reduce((sum, { amountMinor }) => sum + amountMinor, 0)
  const waiting = asked.filter(({ id, status }) => status === 'asked' && !known.has(id))
  return listed + waiting.reduce((sum, { amountMinor }) => sum + amountMinor, 0)
}

/** Statuses that can still change by themselves. An expired or failed order can turn out to be paid after all. */
export const UNDECIDED: readonly PaymentStatus[] = ['created', 'open', 'expired', 'failed']

/**
 * What an order becomes. An order in review stays as it is, one that was dismissed there does not come back to it, and
 * a paid one stays paid. If its account was deleted, an order that turns out to be paid goes to review.
 */
export function decide(
  row: PaymentRow,
  seen: OrderState,
  { asked, isDeleted }: { asked: readonly AskedRefund[]; isDeleted: boolean },
): Verdict {
  const difference = differenceOf(row, seen)
  const before = asItIs(row)
  if (row.status === 'review' || isDismissed(row, seen, isDeleted)) return before
  if (isDeleted && row.status !== 'paid' && seen.state === 'paid')
    return { ...before, status: 'review', review_reason: 'account_deleted' }
  if (row.status === 'paid' ? !EXPLAINED.includes(difference) : difference !== null) {
    return row.status === 'created' || row.status === 'open' || (row.status !== 'paid' && seen.state === 'paid')
      ? { ...before, status: 'review', review_reason: difference }
      : before
  }
  const status = statusOf(row.status, seen.state)
  const known = {
    ...before,
    customer: row.customer ?? seen.customer,
    session: row.session ?? seen.session,
    intent: row.intent ?? seen.intent,
    expires_at: seen.expiresAt ?? row.expires_at,
    // As it was first: another wording of the same address is no change.
    page: status === 'open' ? seen.page && (row.page ?? seen.page) : null,
  }
  if (status !== 'paid') return { ...known, status, failure: status === 'failed' ? seen.failure : null }
  const refunded_minor = inOrdersMoney(row, seen, refundedOf(seen, asked))
  const disputed_minor = inOrdersMoney(row, seen, seen.disputedMinor)
  return {
    ...known,
    status,
    failure: null,
    receipt_url: seen.receiptUrl ?? row.receipt_url,
    refunded_minor,
    disputed_minor,
    reversed: reversedAt(row, { refundedMinor: refunded_minor, disputedMinor: disputed_minor }),
  }
}

function statusOf(before: PaymentStatus, state: OrderState['state']): PaymentStatus {
  if (before === 'paid' || state === 'paid') return 'paid'
  if (!UNDECIDED.includes(before)) return before
  return state
}

/** Whether a verdict changes anything. */
export const changes = (row: PaymentRow, verdict: Verdict): boolean =>
  DECIDED.some((name) => {
    const [value, next] = [row[name], verdict[name]]
    return value instanceof Date && next instanceof Date ? value.getTime() !== next.getTime() : value !== next
  })

/** The sweep's pauses after an order was placed or changed, in minutes; then every hour. */
const PAUSES = [1, 2, 5, 15]
const HOUR = 60
const DAY = 24 * HOUR

/** How long a paid order is checked daily, in minutes: a dispute may come that late. */
const WATCHED = 120 * DAY

/** In how many minutes the sweep checks an order again; null: never. `now` in Unix ms. */
export function pauseBefore(
  order: Pick<PaymentRow, 'status' | 'checks' | 'created_at' | 'paid_at' | 'expires_at'>,
  now: number,
): number | null {
  const minutesSince = (then: Date): number => (now - then.getTime()) / 60_000
  const { status, checks, created_at: createdAt, paid_at: paidAt, expires_at: expiresAt } = order
  if (status === 'review') return null
  if (paidAt) return minutesSince(paidAt) + DAY < WATCHED ? DAY : null
  const over = status === 'expired' || status === 'failed'
  if (over && minutesSince(expiresAt ?? createdAt) > DAY) return null
  return PAUSES[checks] ?? HOUR
}
