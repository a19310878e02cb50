/**
 * Orders: the rows of `payments`. A row is committed before its provider is asked for anything, and its id is the
 * idempotency key there. Amounts are in the minor unit of the currency.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { TimeOrder } from '../platform/postgres/time-order.ts'
import { TIME_ORDERS } from '../platform/postgres/time-order.ts'
import type { AccountId, PaymentId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Order } from './provider.ts'

/** How far a payment is: docs/payments.md. */
export const PAYMENT_STATUSES = ['created', 'open', 'paid', 'expired', 'failed', 'review'] as const
/** One of these statuses. */
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

/** Who began a payment: a customer at the checkout, or the automatic top-up. */
export const PAYMENT_KINDS = ['checkout', 'auto'] as const
/** One of these kinds. */
type PaymentKind = (typeof PAYMENT_KINDS)[number]

/** An order as its buyer sees it. Credits that were reversed count the bonus, too. */
export type Payment = {
  id: string
  kind: PaymentKind
  status: PaymentStatus
  currency: string
  amountMinor: number
  credits: number
  bonus: number
  reversed: number
  receiptUrl: string | null
  /** The page on which it can still be paid; null once it was, or is on its way. */
  payable: { url: string } | null
  createdAt: string
  paidAt: string | null
}

/** The row of an order. */
export type PaymentRow = {
  id: PaymentId
  account_id: AccountId
  provider: string
  kind: PaymentKind
  status: PaymentStatus
  live_mode: boolean
  pack: string | null
  currency: string
  amount_minor: number
  credits: number
  bonus: number
  customer: string | null
  method: string | null
  session: string | null
  intent: string | null
  receipt_url: string | null
  review_reason: string | null
  failure: string | null
  refunded_minor: number
  disputed_minor: number
  reversed: number
  version: number
  checks: number
  next_check_at: Date | null
  expires_at: Date | null
  page: string | null
  created_at: Date
  paid_at: Date | null
}

/** What a buyer sees of an order. */
export const presentPayment = (row: PaymentRow): Payment => ({
  id: publicId('payment', row.id),
  kind: row.kind,
  status: row.status,
  currency: row.currency,
  amountMinor: row.amount_minor,
  credits: row.credits,
  bonus: row.bonus,
  reversed: row.reversed,
  receiptUrl: row.receipt_url,
  payable: payableOf(row),
  createdAt: row.created_at.toISOString(),
  paidAt: row.paid_at?.toISOString() ?? null,
})

/** A page lasts as long as its order is open, and not past its expiry. */
const payableOf = ({ status, page, expires_at: expiresAt }: PaymentRow): Payment['payable'] =>
  status === 'open' && page !== null && expiresAt !== null && expiresAt.getTime() > Date.now() ? { url: page } : null

/** What a provider has to know of an order. */
export const orderOf = (row: PaymentRow): Order => ({
  id: row.id,
  accountId: row.account_id,
  kind: row.kind,
  currency: row.currency,
  amountMinor: row.amount_minor,
  credits: row.credits,
  bonus: row.bonus,
  createdAt: row.created_at,
  customer: row.customer,
  session: row.session,
  intent: row.intent,
  method: row.method,
})

/** An order to place. `credits` and `bonus`: what it grants. */
export type NewOrder = Pick<
  PaymentRow,
  'id' | 'account_id' | 'provider' | 'kind' | 'live_mode' | 'pack' | 'currency' | 'amount_minor' | 'credits' | 'bonus'
> & { customer?: string | null; method?: string | null }

/** How long the sweep waits for the process that placed a new order, in seconds. */
const FIRST_CHECK_SECONDS = 60

/** Writes an order. @throws if the account has an open automatic payment already (by a constraint). */
export async function placeOrder(db: Db | Trx, order: NewOrder): Promise<PaymentRow> {
  const [row] = await db('payments')
    .insert({ ...order, next_check_at: db.raw('now() + make_interval(secs => ?)', [FIRST_CHECK_SECONDS]) })
    .returning<PaymentRow[]>('*')
  return row!
}

/** An order; null if there is none, or it is another account's than the one named. */
export const findPayment = async (db: Db | Trx, id: PaymentId, accountId?: AccountId): Promise<PaymentRow | null> =>
  (await db('payments')
    .where(accountId ? { id, account_id: accountId } : { id })
    .first<PaymentRow | undefined>('*')) ?? null

/** An order, its row locked until the transaction ends. Its account's row must be locked before. */
export const lockPayment = async (trx: Trx, id: PaymentId): Promise<PaymentRow> =>
  trx('payments').where({ id }).forUpdate().first<PaymentRow>('*')

/** The orders whose own object at the provider is one of these. */
export async function findByObject(
  db: Db,
  provider: string,
  { session, intent }: { session: string | null; intent: string | null },
): Promise<PaymentRow[]> {
  // By a plain comparison, which null never meets: most orders have no intent yet.
  return db('payments')
    .where({ provider })
    .whereRaw('(session = ?::text OR intent = ?::text)', [session, intent] as string[])
    .select<PaymentRow[]>('*')
}

/** A page of orders. `next` is the id of its last one, null on the last page. */
type Page<Row> = { rows: Row[]; next: PaymentId | null }

/** At most `limit` orders of an account before `before`, newest first. */
export async function listPayments(
  db: Db,
  accountId: AccountId,
  limit: number,
  before: PaymentId | null,
): Promise<Page<PaymentRow>> {
  const rows = await db('payments')
    .where({ account_id: accountId })
    .modify((query) => {
      if (before !== null) void query.where('id', '<', before)
    })
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .select<PaymentRow[]>('*')
  return pageOf(rows, limit)
}

const pageOf = <Row extends { id: PaymentId }>(rows: Row[], limit: number): Page<Row> => ({
  rows: rows.slice(0, limit),
  next: rows.length > limit ? rows[limit - 1]!.id : null,
})

/** An order as operators see it: whose it is, and what the provider calls it. */
export type OperatedPayment = Payment & {
  accountId: string
  accountEmail: string
  /** An organisation's; empty for a person's own account. */
  accountName: string
  provider: string
  liveMode: boolean
  pack: string | null
  session: string | null
  intent: string | null
  reviewReason: string | null
  failure: string | null
  refundedMinor: number
  disputedMinor: number
}

type OperatedRow = PaymentRow & { email: string; account_name: string }

/** What operators see of an order. */
export const presentOperatedPayment = (row: OperatedRow): OperatedPayment => ({
  ...presentPayment(row),
  accountId: publicId('account', row.account_id),
  accountEmail: row.email,
  accountName: row.account_name,
  provider: row.provider,
  liveMode: row.live_mode,
  pack: row.pack,
  session: row.session,
  intent: row.intent,
  reviewReason: row.review_reason,
  failure: row.failure,
  refundedMinor: row.refunded_minor,
  disputedMinor: row.disputed_minor,
})

/**
 * What operators search for. `search`: a part of an address or of an organisation's name, or the provider's id of a
 * checkout or payment.
 */
export type PaymentSearch = {
  search: string
  status?: PaymentStatus
  id?: PaymentId
  accountId?: AccountId
  /** The newest first if absent. */
  sort?: TimeOrder
}

const withOwner = (db: Db) =>
  db('payments')
    .join('members', (on) => on.on('members.account_id', 'payments.account_id').andOnVal('members.role', 'owner'))
    .join('users', 'users.id', 'members.user_id')
    .join('accounts', 'accounts.id', 'payments.account_id')
    .select<OperatedRow[]>('payments.*', 'users.email', 'accounts.name as account_name')

/** At most `limit` orders of everybody after `after`, or the first. */
export async function searchPayments(
  db: Db,
  { search, status, id, accountId, sort = 'newest' }: PaymentSearch,
  limit: number,
  after: PaymentId | null,
): Promise<Page<OperatedRow>> {
  const { direction, follows } = TIME_ORDERS[sort]
  const rows = await withOwner(db)
    .modify((query) => {
      if (after) void query.where('payments.id', follows, after)
      if (status) void query.where('payments.status', status)
      if (id) void query.where('payments.id', id)
      else if (accountId) void query.where('payments.account_id', accountId)
      else if (search !== '')
        void query.whereRaw(
          '(strpos(users.email, :part) > 0 OR strpos(lower(accounts.name), :part) > 0 OR :search IN (session, intent))',
          { part: search.toLowerCase(), search },
        )
    })
    .orderBy('payments.id', direction)
    .limit(limit + 1)
  return pageOf(rows, limit)
}

/** How many orders are in review. */
export async function countReviews(db: Db): Promise<number> {
  const row = await db('payments').where({ status: 'review' }).count({ reviews: '*' }).first<{ reviews: number }>()
  return Number(row.reviews)
}

/** What was paid in the last days, and what of that went back or is disputed, in minor units by currency. */
export async function receivedSince(
  db: Db,
  days: number,
): Promise<{ currency: string; amountMinor: number; refundedMinor: number }[]> {
  const { rows } = await db.raw<{ rows: { currency: string; amountMinor: number; refundedMinor: number }[] }>(
    `
    SELECT currency, sum(amount_minor)::bigint AS "amountMinor",
      sum(refunded_minor + disputed_minor)::bigint AS "refundedMinor"
    FROM payments WHERE status = 'paid' AND paid_at > now() - make_interval(days => ?)
    GROUP BY currency ORDER BY currency`,
    [days],
  )
  return rows
}

/** One order with its owner's address; null if there is none. */
export const findOperatedPayment = async (db: Db, id: PaymentId): Promise<OperatedRow | null> =>
  (await withOwner(db).where('payments.id', id).first<OperatedRow | undefined>()) ?? null

/** Remembers the provider's customer of an order, if it has none. */
export async function setCustomer(db: Db, id: PaymentId, customer: string): Promise<void> {
  await db('payments').where({ id, customer: null }).update({ customer })
}

/** Orders that the sweep has to check, the longest due first. */
export const dueOrders = async (db: Db, limit: number): Promise<PaymentId[]> =>
  db('payments')
    .where('next_check_at', '<=', db.fn.now())
    .orderBy('next_check_at')
    .limit(limit)
    .pluck<PaymentId[]>('id')

/**
 * Has the sweep check an order in this many seconds, and not before.
 * @returns the order; null if there is none, or the sweep checks it no more.
 */
export async function scheduleCheck(db: Db, id: PaymentId, seconds: number): Promise<PaymentRow | null> {
  const [row] = await db('payments')
    .where({ id })
    .whereNotNull('next_check_at')
    .update({ next_check_at: db.raw('now() + make_interval(secs => ?)', [seconds]) })
    .returning<PaymentRow[]>('*')
  return row ?? null
}
