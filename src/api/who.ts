/**
 * Who may use an endpoint: whoever is logged in, an operator who is, or the holder of an API key.
 */
import type { ParameterizedContext } from 'koa'
import type { Principal } from '../shared/accounts/api-keys.ts'
import type { LiveSession } from '../shared/users/sessions.ts'
import { findSession } from '../shared/users/sessions.ts'
import { roleOf } from '../shared/users/users.ts'
import type { Db } from '../shared/infra/db.ts'
import { ApiError } from '../shared/errors.ts'
import type { Who } from './declaration.ts'
import type { WebDeps } from './deps.ts'
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

/** A user whose role is `admin` at this moment. */
export const operator: Who<LiveSession> = {
  scheme: 'sessionToken',
  errors: ['unauthorized', 'forbidden'],
  find:
    ({ db }) =>
    async (ctx) => {
      const found = await sessionOf(db, ctx)
      if ((await roleOf(db, found.userId)) !== 'admin') throw new ApiError('forbidden')
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

/** The holder of an API key, whose account is not suspended. */
export const apiKey: Who<Principal> = {
  scheme: 'apiKey',
  errors: ['unauthorized', 'account_suspended'],
  find: (deps) => async (ctx) => {
    const found = await findKey(deps, ctx)
    refuseSuspended(found)
    return found
  },
}

/** The holder of the key that a request carries, suspended or not. @throws ApiError unauthorized. */
export async function findKey(
  { keys }: Pick<WebDeps, 'keys'>,
  ctx: ParameterizedContext<RequestState>,
): Promise<Principal> {
  const found = await keys.find(bearerToken(ctx.get('authorization')))
  if (!found) throw new ApiError('unauthorized', { message: 'The API key is unknown or was revoked.' })
  ctx.state.principal = found
  return found
}

/** @throws ApiError account_suspended. */
export function refuseSuspended({ status }: Pick<Principal, 'status'>): void {
  if (status === 'suspended') throw new ApiError('account_suspended')
}
