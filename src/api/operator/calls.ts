/**
 * /api/operator/calls: the calls of everybody.
 */
import { z } from 'zod'
import { holderOfKey } from '../../shared/identity/api-keys.ts'
import type { AnyCallFilter } from '../../shared/reports/all-calls.ts'
import { listAnyCalls } from '../../shared/reports/all-calls.ts'
import { triesOfCall } from '../../shared/calls/tries.ts'
import { findDetails } from '../../shared/reports/call-details.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { parseId, publicId } from '../../shared/platform/ids.ts'
import { entriesOfCall } from '../../shared/ledger/ledger.ts'
import { findAccount, holdersOf } from '../../shared/operators/accounts.ts'
import { findUserByEmail } from '../../shared/identity/users.ts'
import { line } from '../../shared/platform/text-fields.ts'
import { call, callWithLedger, id, pageOf } from '../endpoint/answer-schemas.ts'
import { callFilter, filterOf, placeOf, positionOf } from '../console/calls.ts'
import { createCursors } from '../console/cursors.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, searchText, pathId, timeOrder } from '../endpoint/fields.ts'
import { operator } from '../endpoint/auth.ts'
import { accountName, attempt, operatedAccount } from './answers.ts'

const declared = { tag: 'Operators', auth: operator } as const

const anyCall = call
  .extend({ accountId: id('acc'), accountEmail: z.string(), accountName })
  .meta({ id: 'OperatedCall' })

/** Lists calls of all accounts, by time. */
export const showAllCalls = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/calls',
  summary: 'List the calls of all accounts',
  description:
    'One request searches at most 50,000 calls. If few of them match, its page is short or empty, and ' +
    '`nextCursor` continues the search.',
  query: z.object({
    ...callFilter,
    account: searchText('The id of an account, or its address.'),
    upstream: line(200).optional().meta({ description: 'The upstream that served the call, or failed it.' }),
    errorType: line(60).optional().meta({ description: 'The error code of the answer.' }),
    sort: timeOrder,
    limit: pageLimit,
    cursor: pageCursor,
  }),
  answers: { 200: { description: 'A page of calls.', schema: pageOf(anyCall) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'any calls')
  return async ({ auth, query: { cursor, limit, account, ...fields } }) => {
    const filter: AnyCallFilter = filterOf(fields)
    const after = cursor === undefined ? null : positionOf(cursors.read(auth.accountId, cursor))
    const owner = await ownerOf(db, account.trim(), filter)
    if (owner === null) return { ok: true, data: [], nextCursor: null }
    const { calls, next } = await listAnyCalls(db, { ...filter, accountId: owner }, limit, after)
    const holderOf = await holdersOf(db, [...new Set(calls.map(({ accountId }) => accountId))])
    const data = calls.map(({ accountId, ...rest }) => {
      const { email: accountEmail, name } = holderOf(accountId)
      return { ...rest, accountId: publicId('account', accountId), accountEmail, accountName: name }
    })
    return { ok: true, data, nextCursor: cursors.write(auth.accountId, placeOf(next)) }
  }
})

/** The account whose calls a filter asks for; undefined if it asks for those of all, null if it is unknown. */
async function ownerOf(db: Db, text: string, { keyId }: AnyCallFilter): Promise<AccountId | null | undefined> {
  const named =
    text === '' ? undefined : (parseId('account', text) ?? (await findUserByEmail(db, text.toLowerCase()))?.account_id)
  if (text !== '' && named === undefined) return null
  if (!keyId) return named
  const holder = (await holderOfKey(db, keyId))?.accountId ?? null
  return named === undefined || named === holder ? holder : null
}

/** Shows any call, what it moved, and whose it is. */
export const showAnyCall = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/calls/:id',
  summary: 'Show any call',
  params: pathId('call', 'The `id` of a call.'),
  answers: {
    200: {
      description: 'The call, its ledger entries and its account.',
      schema: callWithLedger.extend({ account: operatedAccount.nullable(), attempts: z.array(attempt) }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const found = await findDetails(db, params.id)
  if (!found) throw new ApiError('not_found')
  const { accountId, ...details } = found
  const [ledger, account, attempts] = await Promise.all([
    entriesOfCall(db, params.id),
    findAccount(db, accountId),
    triesOfCall(db, params.id),
  ])
  return { ok: true, ...details, ledger, account, attempts }
})
