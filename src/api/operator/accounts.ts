/**
 * /api/operator/accounts: finding accounts, granting credits, suspending and activating.
 */
import { z } from 'zod'
import { summaryOf } from '../../shared/accounts/summary.ts'
import type { LiveSession } from '../../shared/users/sessions.ts'
import type { AccountStatus } from '../../shared/accounts/accounts.ts'
import { listCalls } from '../../shared/calls/call-list.ts'
import type { Db } from '../../shared/infra/db.ts'
import { ApiError } from '../../shared/errors.ts'
import type { AccountId } from '../../shared/ids.ts'
import { newId, publicId } from '../../shared/ids.ts'
import { MAX_GRANT_CREDITS, ORIGINS, listGrants } from '../../shared/ledger/ledger.ts'
import type { OperatedAccount } from '../../shared/operators/accounts.ts'
import { findAccount, findAccounts } from '../../shared/operators/accounts.ts'
import { listActions } from '../../shared/operators/actions.ts'
import { grantCredits, setAccountStatus } from '../../shared/operators/changes.ts'
import { call, credits, grant, id, listOf, ok } from '../answers.ts'
import { line, moment, searchText, startOf } from '../fields.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { pathId } from '../path-id.ts'
import { operator } from '../who.ts'
import { operatedAccount, operatorAction } from './answers.ts'

/** How much of each an operator sees at once. */
const LISTED = 50
const LATEST = 20

const declared = { tag: 'Operators', who: operator } as const

const accountPath = { ...declared, params: pathId('account', 'The `id` of an account.') } as const

/** Finds accounts by a part of their address or by their id, the newest first. */
export const searchAccounts = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/accounts',
  summary: 'Find accounts',
  query: z.object({
    search: searchText('Part of an e-mail address, or the id of an account.'),
  }),
  answers: { 200: { description: 'At most 50 accounts, newest first.', schema: listOf(operatedAccount) } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ query }) => ({
  ok: true,
  data: await findAccounts(db, query.search.trim(), LISTED),
}))

/** Shows one account with its grants, its latest calls and what operators did to it. */
export const showOperated = endpoint({
  ...accountPath,
  method: 'get',
  path: '/api/operator/accounts/:id',
  summary: 'Show an account',
  answers: {
    200: {
      description: 'The account, its grants, its latest calls, and operator actions on it.',
      schema: z.strictObject({
        ok,
        account: operatedAccount,
        held: z.int().meta({ description: 'Credits held by open calls.' }),
        openCalls: z.int(),
        debt: z
          .int()
          .meta({ description: 'Debt: credits that past calls left uncollected. The next credits repay it.' }),
        grants: z.array(grant),
        calls: z.array(call),
        actions: z.array(operatorAction),
      }),
    },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const [account, standing, grants, { calls }, actions] = await Promise.all([
    findAccount(db, params.id),
    summaryOf(db, params.id),
    listGrants(db, params.id),
    listCalls(db, params.id, {}, LATEST, null),
    listActions(db, LATEST, params.id),
  ])
  if (!account || !standing) throw new ApiError('not_found')
  const { held, running: openCalls, debt } = standing
  return { ok: true, account, held, openCalls, debt, grants, calls, actions }
})

const GRANTABLE = ORIGINS.filter((origin) => origin !== 'signup')

/** Gives credits. */
export const giveCredits = endpoint({
  ...accountPath,
  method: 'post',
  path: '/api/operator/accounts/:id/grants',
  summary: 'Grant credits',
  body: z
    .object({
      amount: z
        .int({ error: 'must be a whole number' })
        .min(1, 'must be at least 1')
        .max(MAX_GRANT_CREDITS, `must be at most ${MAX_GRANT_CREDITS}`),
      origin: z.enum(GRANTABLE, { error: `must be one of ${GRANTABLE.join(', ')}` }),
      note: line(200)
        .nullish()
        .transform((note) => note?.trim() || null)
        .meta({ description: 'The reason; the customer sees it.' }),
      expiresAt: moment
        .nullish()
        .transform((text) => (text ? startOf(text) : null))
        .meta({ description: 'When they expire; never if absent.' }),
    })
    .meta({ id: 'OperatorGrantRequest' }),
  answers: {
    200: {
      description: 'The credits have been granted.',
      schema: z.strictObject({
        ok,
        grantId: id('grant'),
        credits: credits.meta({ description: 'The new balance.' }),
      }),
    },
  },
  errors: ['invalid_request'],
}).handle(({ db, replies }: Pick<WebDeps, 'db' | 'replies'>) => async ({ who, params, body }) => {
  if (body.expiresAt && body.expiresAt.getTime() <= Date.now()) {
    throw new ApiError('invalid_request', { param: 'expiresAt', message: 'expiresAt must be in the future.' })
  }
  if (!(await findAccount(db, params.id))) throw new ApiError('not_found')
  const grantId = newId('grant')
  const balance = await grantCredits(db, who.userId, { id: grantId, accountId: params.id, ...body })
  replies.publishEvent(params.id, { callId: null, balance })
  return { ok: true, grantId: publicId('grant', grantId), credits: balance }
})

const statusAnswer = z.strictObject({ ok, account: operatedAccount })

/** Suspends an account. */
export const suspendAccount = endpoint({
  ...accountPath,
  method: 'post',
  path: '/api/operator/accounts/:id/suspend',
  summary: 'Suspend an account',
  description: 'Ends its sessions and refuses its keys at once. You cannot suspend your own account.',
  body: 'ignored',
  answers: { 200: { description: 'The account is suspended.', schema: statusAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who, params }) => ({
  ok: true,
  account: await changeStatus(db, who, params.id, 'suspended'),
}))

/** Activates an account. */
export const activateAccount = endpoint({
  ...accountPath,
  method: 'post',
  path: '/api/operator/accounts/:id/activate',
  summary: 'Activate an account',
  body: 'ignored',
  answers: { 200: { description: 'The account is active.', schema: statusAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who, params }) => ({
  ok: true,
  account: await changeStatus(db, who, params.id, 'active'),
}))

/** @throws ApiError not_found; invalid_request for the operator's own account. */
async function changeStatus(
  db: Db,
  by: LiveSession,
  account: AccountId,
  status: AccountStatus,
): Promise<OperatedAccount> {
  if (account === by.accountId) {
    throw new ApiError('invalid_request', { message: 'You cannot suspend or activate your own account.' })
  }
  if (!(await setAccountStatus(db, by.userId, account, status))) throw new ApiError('not_found')
  return (await findAccount(db, account))!
}
