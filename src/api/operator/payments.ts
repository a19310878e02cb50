/**
 * /api/operator/payments: everybody's orders, for operators.
 */
import { z } from 'zod'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { PaymentId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { entriesOfPayment, remainingOfPayment } from '../../shared/ledger/ledger.ts'
import { resolveReview } from '../../shared/payments/ending.ts'
import {
  PAYMENT_STATUSES,
  findOperatedPayment,
  presentOperatedPayment,
  searchPayments,
} from '../../shared/payments/orders.ts'
import { refundableOf } from '../../shared/payments/decide.ts'
import { presentRefund, refundsOf } from '../../shared/payments/refund-rows.ts'
import { refundPayment } from '../../shared/payments/refunds.ts'
import { entry, id, ok, pageOf, time } from '../endpoint/answer-schemas.ts'
import { payment, sells } from '../billing/answers.ts'
import { checkNow } from '../billing/payments.ts'
import { createCursors } from '../console/cursors.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, searchText, pathId, timeOrder } from '../endpoint/fields.ts'
import { operator, provenOperator } from '../endpoint/auth.ts'
import { accountName } from './answers.ts'

const declared = { tag: 'Operators', auth: operator, offered: sells } as const
const params = pathId('payment', 'The `id` of a payment.')

const operatedPayment = payment
  .extend({
    accountId: id('acc'),
    accountEmail: z.string(),
    accountName,
    provider: z.string(),
    liveMode: z.boolean(),
    pack: z.string().nullable(),
    session: z.string().nullable().meta({ description: "The provider's id of the checkout." }),
    intent: z.string().nullable().meta({ description: "The provider's id of the payment." }),
    reviewReason: z.string().nullable().meta({ description: 'What differs from the order.' }),
    failure: z.string().nullable(),
    refundedMinor: z.int(),
    disputedMinor: z.int(),
  })
  .meta({ id: 'OperatedPayment' })

const refund = z
  .strictObject({
    id: id('ref'),
    amountMinor: z.int(),
    status: z.enum(['asked', 'taken', 'refused']),
    failure: z.string().nullable(),
    createdAt: time,
  })
  .meta({ id: 'PaymentRefund' })

const shown = z.strictObject({
  ok,
  payment: operatedPayment,
  ledger: z.array(entry),
  refunds: z.array(refund),
  spent: z.int().meta({ description: 'Credits of this payment that are already spent or taken back.' }),
  refundableMinor: z.int().meta({ description: 'The most that can be refunded without force: its credits are there.' }),
})

async function show(db: Db, paymentId: PaymentId): Promise<z.input<typeof shown>> {
  const row = await findOperatedPayment(db, paymentId)
  if (!row) throw new ApiError('not_found')
  const [ledger, refunds, remaining] = await Promise.all([
    entriesOfPayment(db, row.account_id, paymentId),
    refundsOf(db, paymentId),
    remainingOfPayment(db, paymentId),
  ])
  const isPaid = row.status === 'paid'
  const spent = isPaid ? Math.max(0, row.credits + row.bonus - row.reversed - remaining) : 0
  const refundableMinor = isPaid ? refundableOf(row, remaining) : 0
  const payment = presentOperatedPayment(row)
  return { ok: true, payment, ledger, refunds: refunds.map(presentRefund), spent, refundableMinor }
}

/** Finds orders. */
export const findPayments = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/payments',
  summary: 'Find payments',
  query: z.object({
    search: searchText(
      "Part of an e-mail address or of an organisation's name, an id of Tollgate, or one of the provider.",
    ),
    status: z.enum(PAYMENT_STATUSES, { error: `must be one of ${PAYMENT_STATUSES.join(', ')}` }).optional(),
    sort: timeOrder,
    limit: pageLimit,
    cursor: pageCursor,
  }),
  answers: { 200: { description: 'A page of payments.', schema: pageOf(operatedPayment) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'operated payments')
  return async ({ auth: { accountId }, query }) => {
    const after = query.cursor === undefined ? null : (cursors.read(accountId, query.cursor) as PaymentId)
    const search = query.search.trim()
    const wanted = {
      search,
      status: query.status,
      sort: query.sort,
      id: parseId('payment', search) ?? undefined,
      accountId: parseId('account', search) ?? undefined,
    }
    const { rows, next } = await searchPayments(db, wanted, query.limit, after)
    return { ok: true, data: rows.map(presentOperatedPayment), nextCursor: cursors.write(accountId, next) }
  }
})

/** Shows any order with its ledger and its refunds. */
export const showAnyPayment = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/payments/:id',
  summary: 'Show any payment',
  params,
  answers: { 200: { description: 'The payment, its ledger entries and its refunds.', schema: shown } },
}).handle(
  ({ db }: Pick<WebDeps, 'db'>) =>
    async ({ params: { id: paymentId } }) =>
      show(db, paymentId),
)

/** Checks any order now. */
export const syncAnyPayment = endpoint({
  ...declared,
  views: 'accounts',
  method: 'post',
  path: '/api/operator/payments/:id/sync',
  summary: 'Bring any payment up to date',
  params,
  body: 'ignored',
  answers: { 200: { description: 'The payment as it is now.', schema: shown } },
  errors: ['payments_unavailable'],
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ params: { id: paymentId } }) => {
  await show(db, paymentId)
  await checkNow(payments!, paymentId)
  return show(db, paymentId)
})

/** Refunds a payment, or part of it. */
export const refundAnyPayment = endpoint({
  ...declared,
  auth: provenOperator,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/payments/:id/refund',
  summary: 'Refund a payment',
  description:
    'Takes the credits first, then asks the provider. If credits are already spent, it is 409 `credits_spent` ' +
    'with their number, unless forced: then they become debt.',
  params,
  body: z
    .object({
      amountMinor: z
        .number({ error: 'must be a number' })
        .nullish()
        .meta({ description: "In the currency's minor unit; all that is left if absent." }),
      force: z.boolean({ error: 'must be true or false' }).default(false),
    })
    .meta({ id: 'RefundRequest' }),
  bodyIsOptional: true,
  answers: { 200: { description: 'The refund was requested.', schema: shown.extend({ refund }) } },
  errors: ['invalid_request', 'invalid_amount', 'credits_spent'],
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ auth, params: { id: paymentId }, body }) => {
  const request = { amountMinor: body.amountMinor ?? undefined, force: body.force }
  const { refund: made } = await refundPayment(payments!, auth.userId, paymentId, request)
  return { ...(await show(db, paymentId)), refund: presentRefund(made) }
})

/** Ends a review. */
export const resolveAnyPayment = endpoint({
  ...declared,
  auth: provenOperator,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/payments/:id/resolve',
  summary: 'End the review of a payment',
  params,
  body: z
    .object({ verdict: z.enum(['grant', 'dismiss'], { error: 'must be grant or dismiss' }) })
    .meta({ id: 'ResolveRequest' }),
  answers: { 200: { description: 'The payment as it is now.', schema: shown } },
  errors: ['invalid_request'],
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ auth, params: { id: paymentId }, body }) => {
  const { row, balance } = await resolveReview(db, auth.userId, paymentId, body.verdict)
  if (balance !== null) payments!.publishBalance(row.account_id, balance)
  return show(db, paymentId)
})
