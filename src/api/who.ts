/**
 * Who may use an endpoint of the console: whoever is logged in, or an operator who is.
 */
import type { ParameterizedContext } from 'koa'
import type { LiveSession } from '../shared/accounts/sessions.ts'
import { findSession } from '../shared/accounts/sessions.ts'
import { findUser } from '../shared/accounts/users.ts'
import type { Db } from '../shared/infra/db.ts'
import { ApiError } from '../shared/errors.ts'
import type { Who } from './endpoint.ts'
import { bearerToken } from './middleware/bearer.ts'
import type { RequestState } from './middleware/request-context.ts'

/** Whoever is logged in. A suspended account's sessions have ended. */
export const session: Who<LiveSession> = {
  scheme: 'sessionToken',
  errors: ['unauthorized'],
  find:
    ({ db }) =>
    (ctx) =>
      sessionOf(db, ctx),
}

/** An account whose role is `admin` at this moment. */
export const operator: Who<LiveSession> = {
  scheme: 'sessionToken',
  errors: ['unauthorized', 'forbidden'],
  find:
    ({ db }) =>
    async (ctx) => {
      const found = await sessionOf(db, ctx)
      const user = await findUser(db, found.accountId)
      if (user?.role !== 'admin') throw new ApiError('forbidden')
      return found
    },
}

async function sessionOf(db: Db, ctx: ParameterizedContext<RequestState>): Promise<LiveSession> {
  const found = await findSession(db, bearerToken(ctx.get('authorization')))
  if (!found) {
    throw new ApiError('unauthorized', { message: 'The session token is unknown, expired or revoked. Log in again.' })
  }
  ctx.state.session = found
  return found
}
