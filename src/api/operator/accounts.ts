/**
 * /api/operator/accounts: finding accounts, granting credits, suspending and activating.
 */
import { z } from 'zod'
import { allOf, roleIn } from '../../shared/identity/members.ts'
import { importedFrom } from '../../shared/identity/import-origins.ts'
import { summaryOf } from '../../shared/identity/summary.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import type { AccountStatus } from '../../shared/identity/accounts.ts'
import { newestGroups } from '../../shared/catalogue/versions.ts'
import { listCalls } from '../../shared/reports/call-list.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { newId, publicId } from '../../shared/platform/ids.ts'
import { GRANTABLE, listGrants } from '../../shared/ledger/ledger.ts'
import type { AccountPlace, OperatedAccount, Sort } from '../../shared/operators/accounts.ts'
import { SORTS, STANDINGS, findAccount, findAccounts, withAccountNames } from '../../shared/operators/accounts.ts'
import { listActions } from '../../shared/action-log/actions.ts'
import { grantCredits, setAccountGroup, setAccountStatus } from '../../shared/operators/changes.ts'
import { line } from '../../shared/platform/text-fields.ts'
import { call, credits, grant, id, ok, pageOf } from '../endpoint/answer-schemas.ts'
import { createCursors } from '../console/cursors.ts'
import { creditAmount, moment, pageCursor, pageLimit, searchText, startOf, pathId } from '../endpoint/fields.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { operator, provenOperator } from '../endpoint/auth.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { listedAccount, operatedAccount, operatorAction } from './answers.ts'

/** How much of each an operator sees at once. */
const LATEST = 20

const declared = { tag: 'Operators', auth: operator } as const

const accountPath = { ...declared, params: pathId('account', 'The `id` of an account.') } as const

/** Finds accounts by a part of their address or by their id. */
export const searchAccounts = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/accounts',
  summary: 'Find accounts',
  query: z.object({
    search: searchText('Part of an e-mail address or of the name of an organisation, or the id of an account.'),
    standing: z
      .enum(STANDINGS, { error: `must be one of ${STANDINGS.join(', ')}` })
      .optional()
      .meta({ description: 'Only accounts that owe credits, are suspended, or whose address was never verified.' }),
    sort: z
      .enum(SORTS, { error: `must be one of ${SORTS.join(', ')}` })
      .default('newest')
      .meta({
        description:
          'Newest first if absent. `credits`, `debt` and `lastCall`: the largest or latest first; `debt` lists only ' +
          'accounts that owe, and `lastCall` those that ever called.',
      }),
    limit: pageLimit,
    cursor: pageCursor,
  }),
  answers: { 200: { description: 'A page of accounts.', schema: pageOf(listedAccount) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'accounts')
  return async ({ auth, query: { search, standing, sort, limit, cursor } }) => {
    const after = cursor === undefined ? null : placeOf(cursors.read(auth.accountId, cursor), sort)
    const { accounts, next } = await findAccounts(db, { text: search.trim(), standing, sort }, limit, after)
    const place = next && [sort, next.id, ...(next.key === null ? [] : [next.key])].join(' ')
    return { ok: true, data: accounts, nextCursor: cursors.write(auth.accountId, place) }
  }
})

/** The place of a cursor. @throws ApiError invalid_request for one of another order. */
function placeOf(text: string, sort: Sort): AccountPlace {
  const [order, id, key] = text.split(' ')
  if (order !== sort) {
    throw fieldRefusal('cursor', 'is not valid for this order')
  }
  return { id: id as AccountId, key: key ?? null }
}

/** Shows one account with its grants, its latest calls and what operators did to it. */
export const showOperated = endpoint({
  ...accountPath,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/accounts/:id',
  summary: 'Show an account',
  answers: {
    200: {
      description: 'The account, its grants, its latest calls, and operator actions on it.',
      schema: z.strictObject({
        ok,
        account: operatedAccount,
        groups: z.array(z.string()).meta({ description: 'The groups of the catalogue.' }),
        importedFrom: z
          .strictObject({
            source: z.string(),
            theirId: z.string().nullable().meta({ description: 'Its id there; null once the account is deleted.' }),
          })
          .nullable()
          .meta({ description: 'The gateway that it was imported from; null if it was not.' }),
        held: z.int().meta({ description: 'Credits held by open calls.' }),
        openCalls: z.int(),
        debt: z
          .int()
          .meta({ description: 'Debt: credits that past calls left uncollected. The next credits repay them.' }),
        grants: z.array(grant),
        calls: z.array(call),
        actions: z.array(operatorAction),
      }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const [account, standing, grants, { calls }, actions, groups, from] = await Promise.all([
    findAccount(db, params.id),
    summaryOf(db, params.id),
    listGrants(db, params.id),
    listCalls(db, allOf(params.id), {}, LATEST, null),
    listActions(db, { accountId: params.id, changes: true }, LATEST),
    newestGroups(db),
    importedFrom(db, params.id),
  ])
  if (!account || !standing) throw new ApiError('not_found')
  const { held, running: openCalls, debt } = standing
  const named = await withAccountNames(db, actions)
  const shown = { account, groups: Object.keys(groups), importedFrom: from, held, openCalls, debt }
  return { ok: true, ...shown, grants, calls, actions: named }
})

/** Gives credits. */
export const giveCredits = endpoint({
  ...accountPath,
  auth: provenOperator,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/accounts/:id/grants',
  summary: 'Grant credits',
  body: z
    .object({
      amount: creditAmount,
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
}).handle(({ db, replies }: Pick<WebDeps, 'db' | 'replies'>) => async ({ auth, params, body }) => {
  if (body.expiresAt && body.expiresAt.getTime() <= Date.now()) {
    throw fieldRefusal('expiresAt', 'must be in the future')
  }
  if (!(await findAccount(db, params.id))) throw new ApiError('not_found')
  const grantId = newId('grant')
  const balance = await grantCredits(db, auth.userId, { id: grantId, accountId: params.id, ...body })
  replies.publishEvent(params.id, { callId: null, balance })
  return { ok: true, grantId: publicId('grant', grantId), credits: balance }
})

const statusAnswer = z.strictObject({ ok, account: operatedAccount })

/** Suspends an account. */
export const suspendAccount = endpoint({
  ...accountPath,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/accounts/:id/suspend',
  summary: 'Suspend an account',
  description:
    'Ends its sessions and refuses its keys at once. You cannot suspend an account that you are a member of.',
  body: 'ignored',
  answers: { 200: { description: 'The account is suspended.', schema: statusAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => ({
  ok: true,
  account: await changeStatus(db, auth, params.id, 'suspended'),
}))

/** Activates an account. */
export const activateAccount = endpoint({
  ...accountPath,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/accounts/:id/activate',
  summary: 'Activate an account',
  body: 'ignored',
  answers: { 200: { description: 'The account is active.', schema: statusAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => ({
  ok: true,
  account: await changeStatus(db, auth, params.id, 'active'),
}))

/** Puts an account into a group. */
export const regroupAccount = endpoint({
  ...accountPath,
  views: 'recorded',
  method: 'put',
  path: '/api/operator/accounts/:id/group',
  summary: 'Set the group of an account',
  description:
    'Its next call is served at the prices, with the models and within the limits of the group. Your own account ' +
    'needs another operator.',
  body: z
    .object({ group: z.string().nullable().meta({ description: 'A group of the catalogue; null for none.' }) })
    .meta({ id: 'AccountGroupRequest' }),
  answers: { 200: { description: 'The account is in the group.', schema: statusAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params, body: { group } }) => {
  const is = await setAccountGroup(db, auth.userId, params.id, group)
  if (is === 'no_account') throw new ApiError('not_found')
  if (is === 'no_group') throw fieldRefusal('group', 'must be one of the catalogue')
  return { ok: true, account: (await findAccount(db, params.id))! }
})

/** @throws ApiError not_found; invalid_request for the operator's own account. */
async function changeStatus(
  db: Db,
  by: LiveSession,
  account: AccountId,
  status: AccountStatus,
): Promise<OperatedAccount> {
  if (await roleIn(db, { userId: by.userId, accountId: account })) {
    throw new ApiError('invalid_request', { message: 'You cannot suspend or activate your own account.' })
  }
  if (!(await setAccountStatus(db, by.userId, account, status))) throw new ApiError('not_found')
  return (await findAccount(db, account))!
}
