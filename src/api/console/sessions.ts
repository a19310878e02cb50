/**
 * /api/auth/sessions: where an account is logged in.
 */
import type { Middleware } from 'koa'
import { endSession, listSessions } from '../../shared/accounts/sessions.ts'
import { ApiError } from '../../shared/errors.ts'
import { parseId } from '../../shared/ids.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { logSecurity } from './security-log.ts'

/** Lists the live sessions, newest first. */
export function showSessions({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId, sessionId } = ctx.state.session!
    ctx.body = { ok: true, data: await listSessions(db, accountId, sessionId) }
  }
}

/** Ends a session, perhaps the one that asks. @throws ApiError not_found for one that is not of this account. */
export function revokeSession({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const id = parseId('session', ctx.params.id as string)
    if (!id || !await endSession(db, accountId, id)) throw new ApiError('not_found')
    logSecurity(log, ctx, 'session_revoked', accountId)
    ctx.body = { ok: true }
  }
}
