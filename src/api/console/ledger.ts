/**
 * GET /api/ledger: every movement of an account's credits.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { listEntries } from '../../shared/ledger/ledger.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { createCursors } from './cursors.ts'
import { pageCursor, pageLimit } from './fields.ts'
import { parseFields } from '../parse-fields.ts'

export const ledgerQuery = z.object({ limit: pageLimit, cursor: pageCursor })

/** Lists ledger entries, newest first. */
export function showLedger({ db, config }: Pick<WebDeps, 'db' | 'config'>): Middleware<RequestState> {
  const cursors = createCursors(config.APP_SECRET, 'ledger')
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const { cursor, limit } = parseFields(ledgerQuery, ctx.query)
    const before = cursor === undefined ? null : Number(cursors.read(accountId, cursor))
    const { entries, next } = await listEntries(db, accountId, limit, before)
    ctx.body = { ok: true, data: entries, nextCursor: cursors.write(accountId, next === null ? null : String(next)) }
  }
}
