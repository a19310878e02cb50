/**
 * GET /api/account and GET /api/models: what the console shows on every page, and what it can call.
 */
import type { Middleware } from 'koa'
import { standingOf } from '../../shared/accounts/standing.ts'
import { findUser, presentUser } from '../../shared/accounts/users.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { presentModels } from '../v1/models.ts'

/** Shows who is logged in, their role, the balance, and what open calls hold of it. */
export function showState({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const [user, standing] = await Promise.all([findUser(db, accountId), standingOf(db, accountId)])
    ctx.body = { ok: true, user: presentUser(user!), ...standing! }
  }
}

/** Lists the models as the gateway does, for somebody who has no key at hand. */
export function showModels({ catalogue }: Pick<WebDeps, 'catalogue'>): Middleware<RequestState> {
  return (ctx) => {
    ctx.body = { ok: true, object: 'list', data: presentModels(catalogue.current()) }
  }
}
