/**
 * /api/exports: all calls and the whole ledger of an account as CSV (RFC 4180), streamed a page at a time.
 */
import type { Context } from 'koa'
import { z } from 'zod'
import { seenBy } from '../../shared/identity/members.ts'
import type { CallPosition } from '../../shared/reports/call-list.ts'
import { listCalls } from '../../shared/reports/call-list.ts'
import { listEntries } from '../../shared/ledger/ledger.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { UserId } from '../../shared/platform/ids.ts'
import { daysQuery } from '../endpoint/fields.ts'
import { CSV_PAGE, csv, csvQuery, sendCsv } from '../endpoint/csv.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { onFinished } from '../server/on-finished.ts'
import { Quota } from '../endpoint/quota.ts'
import { manager, session } from '../endpoint/auth.ts'
import { callFilter, filterOf } from './calls.ts'
import { memberUsage } from './usage.ts'

const CALL_COLUMNS = [
  'id',
  'createdAt',
  'finishedAt',
  'model',
  'modality',
  'dialect',
  'status',
  'httpStatus',
  'errorType',
  'credits',
  'creditsPrecharged',
  'creditsUncollected',
  'inputTokens',
  'outputTokens',
  'pictures',
  'latencyMs',
  'upstream',
  'attempts',
  'keyId',
  'count',
  'memberId',
] as const

const ENTRY_COLUMNS = [
  'createdAt',
  'kind',
  'amount',
  'balanceAfter',
  'origin',
  'callId',
  'grantId',
  'note',
  'id',
] as const

const declared = { method: 'get', tag: 'Records' } as const

/** Downloads of one person at once, for all their accounts, of each kind, in this process. */
const AT_ONCE = { perAccount: 2, perProcess: 100 }

/** When a download beyond those may be tried again, in seconds. */
const RETRY_SECONDS = 10

/** Exports the calls that match a filter, newest first. */
export const exportCalls = endpoint({
  ...declared,
  auth: session,
  path: '/api/exports/calls',
  summary: 'Export calls as CSV',
  query: z.object({ ...callFilter, ...csvQuery }),
  answers: csv('All calls, newest first, with a header line.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => {
  const downloads = new Quota(AT_ONCE)
  return ({ auth, query }, ctx) => {
    const filter = filterOf(query)
    hold(downloads, auth.userId, ctx)
    sendCsv(ctx, 'calls', CALL_COLUMNS, query, async (after: CallPosition | null) => {
      const { calls, next } = await listCalls(db, seenBy(auth), filter, CSV_PAGE, after)
      return { rows: calls, next }
    })
  }
})

/** Exports the ledger, newest first. */
export const exportLedger = endpoint({
  ...declared,
  auth: manager,
  path: '/api/exports/ledger',
  summary: 'Export the ledger as CSV',
  query: z.object(csvQuery),
  answers: csv('All entries, newest first, with a header line.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => {
  const downloads = new Quota(AT_ONCE)
  return ({ auth: { userId, accountId }, query }, ctx) => {
    hold(downloads, userId, ctx)
    sendCsv(ctx, 'ledger', ENTRY_COLUMNS, query, async (before: number | null) => {
      const { entries, next } = await listEntries(db, accountId, CSV_PAGE, before)
      return { rows: entries, next }
    })
  }
})

const MEMBER_COLUMNS = [
  'day',
  'memberId',
  'email',
  'calls',
  'failed',
  'credits',
  'inputTokens',
  'outputTokens',
] as const

/** Exports what the members used, by day. */
export const exportMembers = endpoint({
  ...declared,
  auth: manager,
  path: '/api/exports/members',
  summary: 'Export the usage of members as CSV',
  query: daysQuery.extend(csvQuery),
  answers: csv('What `GET /api/usage/members` lists, with a header line.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => {
  const downloads = new Quota(AT_ONCE)
  return ({ auth: { userId, accountId }, query: { bom, ...days } }, ctx) => {
    hold(downloads, userId, ctx)
    sendCsv(ctx, 'members', MEMBER_COLUMNS, { bom }, async () => ({
      rows: await memberUsage(db, accountId, days),
      next: null,
    }))
  }
})

/** Counts a download until its answer is over. @throws ApiError rate_limited. */
function hold(downloads: Quota, userId: UserId, ctx: Pick<Context, 'req' | 'res'>): void {
  if (!downloads.take(userId, 1)) {
    const message = 'Your other downloads are not finished yet.'
    throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
  }
  onFinished(ctx, () => downloads.give(userId, 1))
}
