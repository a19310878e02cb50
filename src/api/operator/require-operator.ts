/**
 * Who may use /api/operator.
 */
import type { Middleware } from 'koa'
import { findUser } from '../../shared/accounts/users.ts'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'

/** Lets operators through, by their role of this moment. @throws ApiError forbidden for everybody else. */
export function requireOperator({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx, next) => {
    const user = await findUser(db, ctx.state.session!.accountId)
    if (user?.role !== 'admin') throw new ApiError('forbidden')
    await next()
  }
}
