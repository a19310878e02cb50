/**
 * Stored responses: to read, to read their input, and to delete.
 */
import type { Context } from 'koa'
import { z } from 'zod'
import { CANCELLED_UNSENT } from '../../../shared/calls/types.ts'
import type { StoredInput } from '../../../shared/calls/stored-responses.ts'
import { findAsked, forgetResponse, withInput, ItemScan } from '../../../shared/calls/stored-responses.ts'
import { begunResponse, callOfResponse, responseId } from '../../../shared/chat/responses/response.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { isLong } from '../../../shared/calls/stored-answers.ts'
import type { CallState } from '../../../shared/reports/call-records.ts'
import { readState } from '../../../shared/reports/call-records.ts'
import type { WebDeps } from '../../deps.ts'
import { apiKey } from '../../endpoint/auth.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { wholeNumber, parsedId } from '../../endpoint/fields.ts'
import type { BodyDeps } from '../calls/answer-body.ts'
import { sendAnswer } from '../calls/answer-body.ts'
import { waitFor } from '../calls/get-call.ts'
import { READ_LIMITS, callHeaders } from '../declared.ts'
import { responseResult } from './responses.ts'
import { PageWriter, itemPage } from './item-page.ts'
import { reads } from './previous.ts'

const NO_RESPONSE = 'There is no such response: it is unknown, has expired, or was deleted.'

const stored = { tag: 'Models and calls', envelope: 'responses', auth: apiKey, limits: READ_LIMITS } as const

const params = parsedId(callOfResponse, 'The `id` of a response.', NO_RESPONSE)

const missing = (): ApiError => new ApiError('not_found', { message: NO_RESPONSE })

/** Shows a response of one's own: as it was answered, or its status. */
export const showResponse = endpoint({
  ...stored,
  method: 'get',
  path: '/v1/responses/:id',
  summary: 'Fetch a response',
  description: 'As it was answered, for as long as answers are kept; until it has ended, its status.',
  params,
  answers: {
    200: { description: 'The response.', schema: responseResult, headers: callHeaders },
  },
  errors: ['overloaded'],
}).write((deps: BodyDeps & Pick<WebDeps, 'db'>) => async ({ auth, params: { id } }, ctx) => {
  const [asked, state] = await Promise.all([findAsked(deps.db, auth, id), readState(deps.db, id)])
  if (!asked || !state || state.state === 'expired') throw missing()
  const callId = publicId('call', id)
  ctx.set('X-Call-Id', callId)
  await sendState(ctx, deps, asked, state)
})

/** Sends a response as it was answered, or its status. */
async function sendState(
  ctx: Context,
  deps: BodyDeps,
  asked: { model: string; created: number },
  state: Exclude<CallState, { state: 'expired' }>,
): Promise<void> {
  if (state.state === 'ended' && state.answer.status === 200) return sendAnswer(ctx, deps, state.answer)
  const callId = publicId('call', state.callId)
  const begun = { ...begunResponse(callId, asked.created, { max_tokens: null }), model: asked.model }
  ctx.set('Cache-Control', 'no-store')
  ctx.body =
    state.state === 'open'
      ? { ...begun, status: state.status === 'queued' ? 'queued' : 'in_progress' }
      : { ...begun, ...failure(errorOf(isLong(state.answer) ? '{}' : state.answer.body)) }
}

/** How a response without an answer has ended. */
const failure = (error: { code: unknown; message: unknown }) =>
  error.message === CANCELLED_UNSENT.message ? { status: 'cancelled' } : { status: 'failed', error }

function errorOf(body: string): { code: unknown; message: unknown } {
  const { code = 'server_error', message = null } = asFields(asFields(JSON.parse(body)).error)
  return { code, message }
}

/** How long a cancellation may take, in seconds; after that the answer is that the response continues. */
const CANCEL_SECONDS = 30

type CancelDeps = BodyDeps & Pick<WebDeps, 'db' | 'calls' | 'queues' | 'replies' | 'joins' | 'stopping'>

/** Cancels a response of one's own that is in the background. What was made of it until then is charged. */
export const cancelResponse = endpoint({
  ...stored,
  method: 'post',
  path: '/v1/responses/:id/cancel',
  summary: 'Cancel a response in the background',
  description: 'It ends as a stream whose client has left: what was made of it is charged. What comes whole goes on.',
  params,
  body: 'ignored',
  answers: { 200: { description: 'The response.', schema: responseResult, headers: callHeaders } },
  errors: ['overloaded'],
}).write((deps: CancelDeps) => async ({ auth, params: { id } }, ctx) => {
  const { db, calls, queues, replies } = deps
  const [asked, state] = await Promise.all([findAsked(db, auth, id), readState(db, id)])
  if (!asked || !state || state.state === 'expired') throw missing()
  ctx.set('X-Call-Id', publicId('call', id))
  ctx.set('Cache-Control', 'no-store')
  if (state.state !== 'open') return sendState(ctx, deps, asked, state)
  if (await calls.refund(id, CANCELLED_UNSENT, { attempt: 0 })) {
    await queues.removeCall('chat', id)
    const begun = begunResponse(publicId('call', id), asked.created, { max_tokens: null })
    ctx.body = { ...begun, model: asked.model, status: 'cancelled' }
    return
  }
  await replies.cancel(id)
  await waitFor(deps, state, CANCEL_SECONDS)
  const now = await readState(db, id)
  await sendState(ctx, deps, asked, now === null || now.state === 'expired' ? state : now)
})

const MOST_ITEMS = 100

const MEGABYTE = 1_048_576

/** Lists the items that a response was asked with, the newest first unless `order` is `asc`. */
export const listInputItems = endpoint({
  ...stored,
  method: 'get',
  path: '/v1/responses/:id/input_items',
  summary: 'List what a response was asked with',
  description:
    'Of a response that was to be stored, for as long as its answer is kept. A page has 2 MB, or a single item that ' +
    'is longer; a read counts once more for each MB of all items.',
  params,
  query: z.object({
    limit: wholeNumber(1, MOST_ITEMS).optional(),
    order: z.enum(['asc', 'desc']).optional(),
    after: z.string().max(200).optional().meta({ description: 'The id of the item behind which the page begins.' }),
  }),
  answers: {
    200: {
      description: 'The items.',
      schema: z.strictObject({
        object: z.literal('list'),
        data: z.array(z.looseObject({})),
        first_id: z.string().nullable(),
        last_id: z.string().nullable(),
        has_more: z.boolean(),
      }),
    },
  },
}).write(
  ({ db, limits, responseMemory }: Pick<WebDeps, 'db' | 'limits' | 'responseMemory'>) =>
    async ({ auth, params: { id }, query }, ctx) => {
      const hasDisconnected = (): boolean => ctx.res.closed || ctx.req.socket.destroyed
      const read = async ({ bytes, pieces }: StoredInput): Promise<Buffer | null> => {
        if (hasDisconnected()) return null
        const megabytes = Math.floor(bytes / MEGABYTE)
        if (megabytes > 0) await limits.reads.take(auth.accountId, { count: megabytes })
        const scan = new ItemScan()
        if (!(await pushAll(pieces(), scan, hasDisconnected))) return null
        const page = itemPage(scan.items, query)
        responseMemory.hold(ctx).require(page.bytes)
        const writer = new PageWriter(page)
        return (await pushAll(pieces(), writer, hasDisconnected)) ? writer.body : null
      }
      const body = await reads.during(auth.accountId, () => withInput(db, auth, id, read))
      if (body === null) throw missing()
      ctx.type = 'json'
      ctx.body = body
    },
)

/** Hands over piece after piece, each in a turn of the event loop. @returns false if the client has disconnected */
async function pushAll(
  pieces: AsyncIterable<Buffer>,
  to: { push(piece: Buffer): void },
  hasDisconnected: () => boolean,
): Promise<boolean> {
  for await (const piece of pieces) {
    if (hasDisconnected()) return false
    to.push(piece)
  }
  return true
}

/** Deletes a stored response: its answer and its input. */
export const deleteResponse = endpoint({
  ...stored,
  method: 'delete',
  path: '/v1/responses/:id',
  summary: 'Delete a response',
  description: 'Its answer is kept no longer. The record of the call, and what it cost, stay.',
  params,
  answers: {
    200: {
      description: 'It was deleted.',
      schema: z.strictObject({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params: { id } }) => {
  if (!(await forgetResponse(db, auth, id))) throw missing()
  return { id: responseId(publicId('call', id)), object: 'response' as const, deleted: true as const }
})
