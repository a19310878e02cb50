/**
 * /api/billing/payments: the orders of an account.
 */
import { z } from 'zod'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId, PaymentId } from '../../shared/platform/ids.ts'
import { entriesOfPayment } from '../../shared/ledger/ledger.ts'
import type { PaymentDeps } from '../../shared/payments/deps.ts'
import { cancelOrder } from '../../shared/payments/cancel.ts'
import { checkOrder } from '../../shared/payments/check.ts'
import { findPayment, listPayments, presentPayment } from '../../shared/payments/orders.ts'
import type { PaymentRow } from '../../shared/payments/orders.ts'
import { unavailable } from '../../shared/payments/provider.ts'
import { pageOf } from '../endpoint/answer-schemas.ts'
import { createCursors } from '../console/cursors.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, pathId } from '../endpoint/fields.ts'
import { manager } from '../endpoint/auth.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { payment, paymentAnswer, paymentWithLedger, sells } from './answers.ts'

const declared = { tag: 'Billing', auth: manager, offered: sells } as const
const params = pathId('payment', 'The `id` of a payment.')

/** Lists the orders, newest first. */
export const showPayments = endpoint({
  ...declared,
  method: 'get',
  path: '/api/billing/payments',
  summary: 'List the payments',
  query: z.object({ limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of payments, newest first.', schema: pageOf(payment) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'payments')
  return async ({ auth: { accountId }, query: { cursor, limit } }) => {
    const before = cursor === undefined ? null : (cursors.read(accountId, cursor) as PaymentId)
    const { rows, next } = await listPayments(db, accountId, limit, before)
    return { ok: true, data: rows.map(presentPayment), nextCursor: cursors.write(accountId, next) }
  }
})

/** An account's own order. @throws ApiError not_found. */
async function own(db: Db, id: PaymentId, accountId: AccountId): Promise<PaymentRow> {
  const row = await findPayment(db, id, accountId)
  if (!row) throw new ApiError('not_found')
  return row
}

const withLedger = async (db: Db, row: PaymentRow) => ({
  ok: true as const,
  payment: presentPayment(row),
  ledger: await entriesOfPayment(db, row.account_id, row.id),
})

/** Shows an order with its ledger entries. */
export const showPayment = endpoint({
  ...declared,
  method: 'get',
  path: '/api/billing/payments/:id',
  summary: 'Show a payment',
  params,
  answers: { 200: { description: 'The payment and its ledger entries.', schema: paymentWithLedger } },
}).handle(
  ({ db }: Pick<WebDeps, 'db'>) =>
    async ({ auth, params: { id } }) =>
      withLedger(db, await own(db, id, auth.accountId)),
)

/** When a check may be tried again, in seconds. */
const RETRY_SECONDS = 10

/** Checks an order now. @throws ApiError payments_unavailable if the provider does not answer, or refuses. */
export const checkNow = async (payments: PaymentDeps, id: PaymentId): Promise<PaymentRow> =>
  (await orUnavailable(payments, id, () => checkOrder(payments, id)))!

async function orUnavailable<T>({ log }: PaymentDeps, id: PaymentId, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const problem = unavailable(error, RETRY_SECONDS)
    log.warn({ payment: publicId('payment', id), err: error }, 'payment not read')
    throw problem
  }
}

/** Checks an order, for the page that customers return to. */
export const syncPayment = endpoint({
  ...declared,
  method: 'post',
  path: '/api/billing/payments/:id/sync',
  summary: 'Bring a payment up to date',
  description: 'Reads it from the provider now, and grants its credits if it is paid.',
  limits: [{ limit: 'paymentReads', per: 'account' }],
  params,
  body: 'ignored',
  answers: { 200: { description: 'The payment as it is now.', schema: paymentWithLedger } },
  errors: ['payments_unavailable'],
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ auth, params: { id } }) => {
  await own(db, id, auth.accountId)
  return withLedger(db, await checkNow(payments!, id))
})

const TOO_LATE = 'This payment can no longer be cancelled: it was made, or is on its way.'

/** Cancels an order that nobody has paid. */
export const cancelPayment = endpoint({
  ...declared,
  method: 'post',
  path: '/api/billing/payments/:id/cancel',
  summary: 'Cancel a payment',
  description:
    'Closes the page of a payment that nobody has made (`payable`). 409 `conflict` once it was made, or is on its way.',
  limits: [{ limit: 'paymentReads', per: 'account' }],
  params,
  body: 'ignored',
  answers: { 200: { description: 'The payment, which can no longer be made.', schema: paymentAnswer } },
  errors: ['conflict', 'payments_unavailable'],
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ auth, params: { id } }) => {
  await own(db, id, auth.accountId)
  const row = await orUnavailable(payments!, id, () => cancelOrder(payments!, id))
  if (row.status !== 'expired' && row.status !== 'failed') throw new ApiError('conflict', { message: TOO_LATE })
  return { ok: true, payment: presentPayment(row) }
})
