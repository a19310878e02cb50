/**
 * /api/operator/actions: the audit log.
 */
import { z } from 'zod'
import type { ActionFilter } from '../../shared/action-log/actions.ts'
import { withAccountNames } from '../../shared/operators/accounts.ts'
import { ACTIONS, listActions, recordAction } from '../../shared/action-log/actions.ts'
import { findUserByEmail } from '../../shared/identity/users.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { ActionId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { pageOf } from '../endpoint/answer-schemas.ts'
import { filterOf } from '../console/calls.ts'
import { createCursors } from '../console/cursors.ts'
import { CSV_PAGE, csv, csvQuery, sendCsv } from '../endpoint/csv.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { moment, pageCursor, pageLimit, searchText, timeOrder } from '../endpoint/fields.ts'
import { operator } from '../endpoint/auth.ts'
import { operatorAction } from './answers.ts'

const declared = { tag: 'Operators', auth: operator, method: 'get' } as const

const COMMAND_LINE = 'command line'

const filters = {
  account: searchText('The id of an account, or its address.'),
  operator: searchText(`The address of an operator, or \`${COMMAND_LINE}\`.`),
  action: z.enum(ACTIONS, { error: `must be one of ${ACTIONS.join(', ')}` }).optional(),
  from: moment.optional().meta({ description: 'At or after this: a day in UTC, or a time with its zone.' }),
  to: moment.optional().meta({ description: 'At or before this; a day is included as a whole.' }),
}

type Query = z.output<z.ZodObject<typeof filters>> & Pick<ActionFilter, 'sort'>

/** The filter that a query means; null if it names somebody unknown. */
async function narrowed(db: Db, { account, operator: auth, ...rest }: Query): Promise<ActionFilter | null> {
  const named = async (text: string) => (await findUserByEmail(db, text.trim().toLowerCase())) ?? null
  const filter: ActionFilter = filterOf(rest)
  if (account.trim() !== '') {
    const accountId = parseId('account', account.trim()) ?? (await named(account))?.account_id
    if (!accountId) return null
    filter.accountId = accountId
  }
  if (auth.trim() === COMMAND_LINE) filter.operatorId = null
  else if (auth.trim() !== '') {
    const found = await named(auth)
    if (!found) return null
    filter.operatorId = found.id
  }
  return filter
}

/** Lists what operators did, by time. */
export const showActions = endpoint({
  ...declared,
  views: 'nobody',
  path: '/api/operator/actions',
  summary: 'List operator actions',
  query: z.object({ ...filters, sort: timeOrder, limit: pageLimit, cursor: pageCursor }),
  answers: { 200: { description: 'A page of them.', schema: pageOf(operatorAction) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'actions')
  return async ({ auth: { accountId }, query: { limit, cursor, ...query } }) => {
    const after = cursor === undefined ? null : (cursors.read(accountId, cursor) as ActionId)
    const filter = await narrowed(db, query)
    const found = filter ? await listActions(db, filter, limit + 1, after) : []
    const data = await withAccountNames(db, found.slice(0, limit))
    const place = found.length > limit ? parseId('action', data.at(-1)!.id) : null
    return { ok: true, data, nextCursor: cursors.write(accountId, place) }
  }
})

const COLUMNS = ['createdAt', 'operator', 'action', 'accountId', 'account', 'details', 'id'] as const

/** Exports what operators did, newest first. */
export const exportActions = endpoint({
  ...declared,
  views: 'recorded',
  path: '/api/operator/exports/actions',
  summary: 'Export operator actions as CSV',
  query: z.object({ ...filters, ...csvQuery }),
  answers: csv('All actions, newest first, with a line of headings. The export is an action, too.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }, ctx) => {
  const filter = await narrowed(db, query)
  await db.transaction((trx) => recordAction(trx, auth.userId, 'actions_exported', filter?.accountId ?? null))
  sendCsv(ctx, 'actions', COLUMNS, query, async (before: ActionId | null) => {
    const found = filter ? await listActions(db, filter, CSV_PAGE, before) : []
    const rows = found.map(({ operatorEmail, accountEmail, details, ...rest }) => ({
      ...rest,
      operator: operatorEmail ?? COMMAND_LINE,
      account: accountEmail,
      details: JSON.stringify(details),
    }))
    return { rows, next: found.length === CSV_PAGE ? parseId('action', found.at(-1)!.id) : null }
  })
})
