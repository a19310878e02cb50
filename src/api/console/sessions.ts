/**
 * /api/auth/sessions: where an account is logged in.
 */
import { z } from 'zod'
import { endSession, endSessions, listSessions } from '../../shared/identity/sessions.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { done, id, listOf, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import { session } from '../endpoint/auth.ts'
import { logSecurity } from './security-log.ts'

/** A session as its owner sees it. */
export const shownSession = z
  .strictObject({
    id: id('ses'),
    createdAt: time,
    lastSeenAt: time,
    userAgent: z.string(),
    ip: z.string(),
    current: z.boolean(),
  })
  .meta({ id: 'Session' })

const declared = { tag: 'Account', auth: session } as const

/** Lists the live sessions, newest first. */
export const showSessions = endpoint({
  ...declared,
  method: 'get',
  path: '/api/auth/sessions',
  summary: 'List the sessions',
  answers: { 200: { description: 'The valid sessions, newest first.', schema: listOf(shownSession) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listSessions(db, auth.userId, auth.sessionId),
}))

/** Ends a session, perhaps the one that asks. */
export const revokeSession = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/auth/sessions/:id',
  summary: 'End a session',
  params: pathId('session', 'The `id` of a session.'),
  answers: { 200: { description: 'The session has ended.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { userId, accountId }, params, request }) => {
  if (!(await endSession(db, userId, params.id))) throw new ApiError('not_found')
  logSecurity(log, request, 'session_revoked', accountId)
  return { ok: true }
})

/** Ends every session of the user but the one that asks. */
export const revokeOtherSessions = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/auth/sessions',
  summary: 'End all other sessions',
  answers: { 200: { description: 'Only the current session is left.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { userId, accountId, sessionId }, request }) => {
  await endSessions(db, userId, sessionId)
  logSecurity(log, request, 'session_revoked', accountId)
  return { ok: true }
})
