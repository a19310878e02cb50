/**
 * /api/calls: the call records of an account.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { CALL_STATUSES, MODALITIES } from '../../shared/calls/lifecycle.ts'
import type { CallFilter, CallPosition } from '../../shared/calls/call-list.ts'
import { listCalls } from '../../shared/calls/call-list.ts'
import { findOrigin, findRecord } from '../../shared/calls/records.ts'
import { ApiError } from '../../shared/errors.ts'
import type { CallId, KeyId } from '../../shared/ids.ts'
import { parseId } from '../../shared/ids.ts'
import { entriesOfCall } from '../../shared/ledger/ledger.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { createCursors } from './cursors.ts'
import { endOf, moment, pageCursor, pageLimit, startOf } from './fields.ts'
import { parseFields } from '../parse-fields.ts'

const keyId = z.string({ error: 'is given once' }).transform((text, context): KeyId => {
  const id = parseId('key', text)
  if (id) return id
  context.addIssue({ code: 'custom', message: 'is no id of a key' })
  return z.NEVER
})

export const callsQuery = z.object({
  model: z.string({ error: 'is given once' }).min(1, 'is empty')
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'is no name of a model').optional(),
  modality: z.enum(MODALITIES, { error: `is one of ${MODALITIES.join(', ')}` }).optional(),
  status: z.enum(CALL_STATUSES, { error: `is one of ${CALL_STATUSES.join(', ')}` }).optional(),
  keyId: keyId.optional().meta({ description: 'Calls that came with this key.' }),
  from: moment.optional().meta({ description: 'Calls accepted then or later: a day in UTC, or a time with its zone.' }),
  to: moment.optional().meta({ description: 'Calls accepted then or earlier; the whole of a day.' }),
  limit: pageLimit,
  cursor: pageCursor,
})

/** Lists calls, newest first. A page stays what it is while calls arrive. */
export function showCalls({ db, config }: Pick<WebDeps, 'db' | 'config'>): Middleware<RequestState> {
  const cursors = createCursors(config.APP_SECRET, 'calls')
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const { cursor, limit, ...fields } = parseFields(callsQuery, ctx.query)
    const after = cursor === undefined ? null : positionOf(cursors.read(accountId, cursor))
    const { calls, next } = await listCalls(db, accountId, filterOf(fields), limit, after)
    ctx.body = { ok: true, data: calls, nextCursor: cursors.write(accountId, next && `${next.micros} ${next.id}`) }
  }
}

function filterOf({ from, to, ...same }: Omit<z.infer<typeof callsQuery>, 'limit' | 'cursor'>): CallFilter {
  const filter = { ...same, ...(from && { from: startOf(from) }), ...(to && { before: endOf(to) }) }
  if (filter.from && filter.before && filter.from >= filter.before) {
    throw new ApiError('invalid_request', { param: 'to', message: 'to: lies before from' })
  }
  return filter
}

function positionOf(place: string): CallPosition {
  const [micros, id] = place.split(' ')
  return { micros: Number(micros), id: id as CallId }
}

/** Shows one call and its movements of credits. @throws ApiError not_found for one that is not of this account. */
export function showCall({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const id = parseId('call', ctx.params.id as string)
    const call = id && await findRecord(db, id, ctx.state.session!.accountId)
    if (!id || !call) throw new ApiError('not_found')
    const [origin, ledger] = await Promise.all([findOrigin(db, id), entriesOfCall(db, id)])
    ctx.body = { ok: true, call, startedAt: origin?.startedAt ?? null, ledger }
  }
}
