/**
 * GET /api/ledger: every movement of an account's credits.
 */
import { z } from 'zod'
import { listEntries } from '../../shared/ledger/ledger.ts'
import { entry, pageOf } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { manager } from '../endpoint/auth.ts'
import { createCursors } from './cursors.ts'
import { pageCursor, pageLimit } from '../endpoint/fields.ts'

/** Lists ledger entries, newest first. */
export const showLedger = endpoint({
  method: 'get',
  path: '/api/ledger',
  tag: 'Records',
  summary: 'List ledger entries',
  auth: manager,
  query: z.object({ limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of the ledger, newest first.', schema: pageOf(entry) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'ledger')
  return async ({ auth: { accountId }, query: { cursor, limit } }) => {
    const before = cursor === undefined ? null : Number(cursors.read(accountId, cursor))
    const { entries, next } = await listEntries(db, accountId, limit, before)
    return { ok: true, data: entries, nextCursor: cursors.write(accountId, next === null ? null : String(next)) }
  }
})
