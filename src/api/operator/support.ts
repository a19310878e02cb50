/**
 * /api/operator/accounts/:id: what an account's owner sees of it, for operators who help them. Every view is recorded.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import { listEntries } from '../../shared/ledger/ledger.ts'
import { ownerOf } from '../../shared/identity/members.ts'
import { revokeSessions } from '../../shared/operators/changes.ts'
import { holderOfSession, listSessions } from '../../shared/identity/sessions.ts'
import { done, entry, listOf, pageOf } from '../endpoint/answer-schemas.ts'
import { createCursors } from '../console/cursors.ts'
import { shownSession } from '../console/sessions.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pageCursor, pageLimit, pathId } from '../endpoint/fields.ts'
import { operator } from '../endpoint/auth.ts'

const declared = {
  tag: 'Operators',
  auth: operator,
  params: pathId('account', 'The `id` of an account.'),
} as const

/** Lists where the owner of an account is logged in. */
export const showSessionsOf = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/accounts/:id/sessions',
  summary: 'List the sessions of an account',
  answers: { 200: { description: 'The valid sessions of its owner, newest first.', schema: listOf(shownSession) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  const owner = await ownerOf(db, params.id)
  if (!owner) throw new ApiError('not_found')
  return { ok: true, data: await listSessions(db, owner, auth.sessionId) }
})

/** Signs the owner of an account out everywhere. */
export const endSessionsOf = endpoint({
  ...declared,
  views: 'recorded',
  method: 'delete',
  path: '/api/operator/accounts/:id/sessions',
  summary: 'End the sessions of an account',
  description: 'Its owner is signed out everywhere, and can sign in again. Keys keep working.',
  answers: { 200: { description: 'All sessions have ended.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  const owner = await ownerOf(db, params.id)
  if (!owner) throw new ApiError('not_found')
  await revokeSessions(db, auth.userId, { id: owner, account_id: params.id }, 'all')
  return { ok: true }
})

/** Signs the owner of an account out in one place. */
export const endSessionOf = endpoint({
  ...declared,
  views: 'recorded',
  params: pathId('session', 'The `id` of a session.'),
  method: 'delete',
  path: '/api/operator/sessions/:id',
  summary: 'End any session',
  answers: { 200: { description: 'The session has ended.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  const holder = await holderOfSession(db, params.id)
  const ended =
    holder && (await revokeSessions(db, auth.userId, { id: holder.userId, account_id: holder.accountId }, params.id))
  if (!ended) throw new ApiError('not_found')
  return { ok: true }
})

/** Lists the ledger of an account. */
export const showLedgerOf = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/accounts/:id/ledger',
  summary: 'List the ledger of an account',
  query: z.object({ limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of its entries, newest first.', schema: pageOf(entry) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'ledger')
  return async ({ params, query: { cursor, limit } }) => {
    // A position belongs to the account that is viewed.
    const before = cursor === undefined ? null : Number(cursors.read(params.id, cursor))
    if (!(await ownerOf(db, params.id))) throw new ApiError('not_found')
    const { entries, next } = await listEntries(db, params.id, limit, before)
    return { ok: true, data: entries, nextCursor: cursors.write(params.id, next === null ? null : String(next)) }
  }
})
