/**
 * /api/operator/accounts/:id/deductions: taking credits back.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import { newId, publicId } from '../../shared/platform/ids.ts'
import { deductCredits } from '../../shared/operators/changes.ts'
import { label } from '../../shared/platform/text-fields.ts'
import { credits, id, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { creditAmount, pathId } from '../endpoint/fields.ts'
import { provenOperator } from '../endpoint/auth.ts'

/** Takes credits from an account. */
export const takeCredits = endpoint({
  views: 'recorded',
  tag: 'Operators',
  auth: provenOperator,
  method: 'post',
  path: '/api/operator/accounts/:id/deductions',
  summary: 'Deduct credits',
  description:
    'Takes them from what the account can spend, in burn order. More than that is 409 `credits_spent` with the ' +
    'number, unless `mayOwe` turns the rest into debt.',
  params: pathId('account', 'The `id` of an account.'),
  body: z
    .object({
      amount: creditAmount,
      reason: label(200).meta({ description: 'The customer sees it in the ledger.' }),
      mayOwe: z.boolean({ error: 'must be true or false' }).default(false),
      idempotencyKey: label(255)
        .nullish()
        .transform((key) => key ?? null)
        .meta({ description: 'The same key, amount and reason deduct nothing a second time.' }),
    })
    .meta({ id: 'DeductionRequest' }),
  answers: {
    200: {
      description: 'The credits have been taken, by this request or one before it with the same key.',
      schema: z.strictObject({
        ok,
        deductionId: id('ded'),
        taken: credits.meta({ description: 'Credits that left the balance.' }),
        owed: credits.meta({ description: 'Credits that became debt.' }),
        credits: credits.meta({ description: 'The balance.' }),
      }),
    },
  },
  errors: ['invalid_request', 'credits_spent', 'idempotency_conflict'],
}).handle(({ db, replies }: Pick<WebDeps, 'db' | 'replies'>) => async ({ auth, params, body }) => {
  const { amount, mayOwe, idempotencyKey: key } = body
  const wanted = { id: newId('deduction'), accountId: params.id, amount, mayOwe, reason: body.reason.trim(), key }
  const done = await deductCredits(db, auth.userId, wanted)
  if (!done) throw new ApiError('not_found')
  if (done.is === 'conflict') {
    throw new ApiError('idempotency_conflict', { message: 'This idempotencyKey was used for another deduction.' })
  }
  if (done.is === 'too_little') {
    const message = `The account can spend ${done.spendable} credits. Deduct at most that, or let the rest become debt.`
    throw new ApiError('credits_spent', { message })
  }
  replies.publishEvent(params.id, { callId: null, balance: done.balance })
  const { taken, owed, balance } = done
  return { ok: true, deductionId: publicId('deduction', done.id), taken, owed, credits: balance }
})
