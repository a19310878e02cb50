/**
 * /api/calls: the call records of an account.
 */
import { z } from 'zod'
import { seenBy } from '../../shared/identity/members.ts'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import { CALL_STATUSES } from '../../shared/terms/lifecycle.ts'
import { DIALECTS } from '../../shared/chat/dialect.ts'
import type { CallFilter, CallPosition } from '../../shared/reports/call-list.ts'
import { listCalls } from '../../shared/reports/call-list.ts'
import { findDetails } from '../../shared/reports/call-details.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { CallId } from '../../shared/platform/ids.ts'
import { entriesOfCall } from '../../shared/ledger/ledger.ts'
import { call, callWithLedger, pageOf } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { session } from '../endpoint/auth.ts'
import { createCursors } from './cursors.ts'
import {
  endOf,
  keyId,
  memberId,
  moment,
  pageCursor,
  pageLimit,
  startOf,
  pathId,
  timeOrder,
} from '../endpoint/fields.ts'
import { isStorable } from '../../shared/platform/text-fields.ts'

/** What a list of calls can be narrowed to. */
export const callFilter = {
  model: z
    .string({ error: 'must appear only once' })
    .min(1, 'must not be empty')
    .refine(isStorable, 'is not a model id')
    .optional(),
  modality: z.enum(MODALITIES, { error: `must be one of ${MODALITIES.join(', ')}` }).optional(),
  dialect: z
    .enum(DIALECTS, { error: `must be one of ${DIALECTS.join(', ')}` })
    .optional()
    .meta({ description: 'Chats that were asked in this API; `chat` is chat completions.' }),
  status: z.enum(CALL_STATUSES, { error: `must be one of ${CALL_STATUSES.join(', ')}` }).optional(),
  keyId: keyId.optional().meta({ description: 'Calls made with this key.' }),
  memberId: memberId.optional().meta({ description: 'Calls made with keys of this member.' }),
  from: moment
    .optional()
    .meta({ description: 'Calls accepted at or after this: a day in UTC, or a time with its zone.' }),
  to: moment.optional().meta({ description: 'Calls accepted at or before this; a day is included as a whole.' }),
}

const callsQuery = z.object({ ...callFilter, sort: timeOrder, limit: pageLimit, cursor: pageCursor })

/** Lists calls, by time. A page stays what it is while calls arrive. */
export const showCalls = endpoint({
  method: 'get',
  path: '/api/calls',
  tag: 'Records',
  summary: 'List calls',
  description: 'A member sees their own; owner and admins see those of all members.',
  auth: session,
  query: callsQuery,
  answers: { 200: { description: 'A page of calls.', schema: pageOf(call) } },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const cursors = createCursors(config.APP_SECRET, 'calls')
  return async ({ auth, query: { cursor, limit, ...fields } }) => {
    const { accountId } = auth
    const after = cursor === undefined ? null : positionOf(cursors.read(accountId, cursor))
    const { calls, next } = await listCalls(db, seenBy(auth), filterOf(fields), limit, after)
    return { ok: true, data: calls, nextCursor: cursors.write(accountId, placeOf(next)) }
  }
})

/** The filter that the fields of a query mean. @throws ApiError invalid_request if it ends before it begins. */
export function filterOf<Fields extends { from?: string | undefined; to?: string | undefined }>({
  from,
  to,
  ...same
}: Fields): Omit<Fields, 'from' | 'to'> & Pick<CallFilter, 'from' | 'before'> {
  const filter: Omit<Fields, 'from' | 'to'> & Pick<CallFilter, 'from' | 'before'> = {
    ...same,
    ...(from && { from: startOf(from) }),
    ...(to && { before: endOf(to) }),
  }
  if (filter.from && filter.before && filter.from >= filter.before) {
    throw new ApiError('invalid_request', { param: 'to', message: 'to must not be before from.' })
  }
  return filter
}

/** A position as the text of a cursor. */
export const placeOf = (position: CallPosition | null): string | null => position && `${position.micros} ${position.id}`

/** The position of a cursor's text. */
export function positionOf(place: string): CallPosition {
  const [micros, id] = place.split(' ')
  return { micros: Number(micros), id: id as CallId }
}

/** Shows one call, its receipt and its movements of credits. */
export const showCall = endpoint({
  method: 'get',
  path: '/api/calls/:id',
  tag: 'Records',
  summary: 'Show a call, its receipt and its ledger entries',
  auth: session,
  params: pathId('call', 'The `id` of a call.'),
  answers: { 200: { description: 'The call, its receipt, and its ledger entries in order.', schema: callWithLedger } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params: { id } }) => {
  const [found, ledger] = await Promise.all([findDetails(db, id, seenBy(auth)), entriesOfCall(db, id)])
  if (!found) throw new ApiError('not_found')
  const { accountId: _account, ...details } = found
  return { ok: true, ...details, ledger }
})
