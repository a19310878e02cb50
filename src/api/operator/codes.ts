/**
 * /api/operator/codes and /api/operator/debts: redemption codes, and what accounts owe.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import { findAccount } from '../../shared/operators/accounts.ts'
import { createCode, disableCode, listCodes } from '../../shared/payments/codes.ts'
import { forgive, listDebtors } from '../../shared/payments/debts.ts'
import { line } from '../../shared/platform/text-fields.ts'
import { credits, id, listOf, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { creditAmount, moment, startOf, pathId } from '../endpoint/fields.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { operator, provenOperator } from '../endpoint/auth.ts'
import { accountName } from './answers.ts'

const declared = { tag: 'Operators', auth: operator } as const

/** The most codes or debtors of one answer. */
const LISTED = 200

const shownCode = z
  .strictObject({
    id: id('code'),
    hint: z.string().meta({ description: 'Its last four characters.' }),
    credits,
    uses: z.int(),
    maxUses: z.int(),
    expiresAt: time.nullable(),
    creditsExpireAt: time.nullable(),
    disabledAt: time.nullable(),
    note: z.string().nullable(),
    createdAt: time,
  })
  .meta({ id: 'RedemptionCode' })

const instant = moment.nullish().transform((text) => (text ? startOf(text) : null))

const futureOrNull = (date: Date | null, param: string): Date | null => {
  if (date && date.getTime() <= Date.now()) throw fieldRefusal(param, 'must be in the future')
  return date
}

/** Makes a redemption code. The code itself is in this answer and nowhere else. */
export const makeCode = endpoint({
  ...declared,
  auth: provenOperator,
  views: 'nobody',
  method: 'post',
  path: '/api/operator/codes',
  summary: 'Create a redemption code',
  body: z
    .object({
      credits: creditAmount,
      uses: z
        .int({ error: 'must be a whole number' })
        .min(1, 'must be at least 1')
        .max(1_000_000, 'must be at most 1000000')
        .default(1),
      expiresAt: instant.meta({ description: 'When the code expires; never if absent.' }),
      creditsExpireAt: instant.meta({ description: 'When its credits expire; never if absent.' }),
      note: line(200)
        .nullish()
        .transform((note) => note?.trim() || null),
    })
    .meta({ id: 'CodeRequest' }),
  answers: {
    200: {
      description: 'The code, which is shown only this once.',
      schema: z.strictObject({ ok, id: id('code'), code: z.string() }),
    },
  },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, body }) => {
  futureOrNull(body.expiresAt, 'expiresAt')
  futureOrNull(body.creditsExpireAt, 'creditsExpireAt')
  const { code, made } = await createCode(db, auth.userId, { ...body, maxUses: body.uses })
  return { ok: true, id: made.id, code }
})

/** Lists redemption codes, newest first. */
export const showCodes = endpoint({
  ...declared,
  views: 'nobody',
  method: 'get',
  path: '/api/operator/codes',
  summary: 'List redemption codes',
  answers: { 200: { description: 'At most 200, newest first.', schema: listOf(shownCode) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await listCodes(db, LISTED) }))

/** Disables a code for good. */
export const endCode = endpoint({
  ...declared,
  views: 'nobody',
  method: 'post',
  path: '/api/operator/codes/:id/disable',
  summary: 'Disable a redemption code',
  params: pathId('code', 'The `id` of a code.'),
  body: 'ignored',
  answers: { 200: { description: 'It can no longer be redeemed.', schema: z.strictObject({ ok, code: shownCode }) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  const code = await disableCode(db, auth.userId, params.id)
  if (!code) throw new ApiError('not_found')
  return { ok: true, code }
})

const debtor = z
  .strictObject({ accountId: id('acc'), email: z.string(), name: accountName, debt: credits })
  .meta({ id: 'Debtor' })

/** Lists who owes credits. */
export const showDebts = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/debts',
  summary: 'List accounts with debt',
  answers: { 200: { description: 'At most 200, the largest debts first.', schema: listOf(debtor) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, data: await listDebtors(db, LISTED) }))

/** Lets a debt go. */
export const forgiveDebtOf = endpoint({
  ...declared,
  auth: provenOperator,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/accounts/:id/forgive-debt',
  summary: 'Forgive the debt of an account',
  params: pathId('account', 'The `id` of an account.'),
  body: 'ignored',
  answers: {
    200: {
      description: 'The account no longer owes anything.',
      schema: z.strictObject({ ok, forgiven: credits }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  if (!(await findAccount(db, params.id))) throw new ApiError('not_found')
  return { ok: true, forgiven: await forgive(db, auth.userId, params.id) }
})
