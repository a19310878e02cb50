/**
 * GET /api/grants: where an account's credits came from, and what is left of each lot.
 */
import type { Middleware } from 'koa'
import { listGrants } from '../../shared/ledger/ledger.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'

/** Lists the grants, newest first. What remains of them adds up to the balance. */
export function showGrants({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    ctx.body = { ok: true, data: await listGrants(db, ctx.state.session!.accountId) }
  }
}
