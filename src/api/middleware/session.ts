/**
 * Who is logged in.
 */
import type { Middleware, ParameterizedContext } from 'koa'
import { findSession } from '../../shared/accounts/sessions.ts'
import type { Device } from '../../shared/accounts/sessions.ts'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import type { Limit } from '../limits.ts'
import { bearerToken } from './bearer.ts'
import { clientAddress } from './client-address.ts'
import type { RequestState } from './request-context.ts'

/** Finds the session of the token. @throws ApiError unauthorized; a suspended account's sessions have ended. */
export function requireSession({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx, next) => {
    const session = await findSession(db, bearerToken(ctx.get('authorization')))
    if (!session) throw new ApiError('unauthorized', { message: 'The session token is unknown, expired or revoked. Log in again.' })
    ctx.state.session = session
    await next()
  }
}

/** Counts the request against a limit of the account that is logged in. @throws ApiError rate_limited. */
export function perAccount(limit: Limit): Middleware<RequestState> {
  return async (ctx, next) => {
    await limit.take(ctx.state.session!.accountId)
    await next()
  }
}

const USER_AGENT_LENGTH = 200

/** What a session remembers of its client. */
export function deviceOf(ctx: ParameterizedContext<RequestState>, trustedHops: number): Device {
  const userAgent = Array.from(ctx.get('user-agent').replace(/\p{Cc}/gu, '')).slice(0, USER_AGENT_LENGTH).join('')
  return { userAgent, ip: clientAddress(ctx.req, trustedHops) }
}
