/**
 * What a request takes over from earlier responses of its key's holder: all of one (`previous_response_id`), or single
 * items (`item_reference`). It is resolved before the hold, because it is input that is billed.
 */
import type { Membership } from '../../../shared/identity/members.ts'
import { findResponses } from '../../../shared/calls/stored-responses.ts'
import type { StoredResponse } from '../../../shared/calls/stored-responses.ts'
import { MOST } from '../../../shared/chat/responses/fields.ts'
import { callOfItem, callOfResponse } from '../../../shared/chat/responses/response.ts'
import { itemsOf } from '../../../shared/chat/responses/parts.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { bytesAsJson } from '../../../shared/platform/json-bytes.ts'
import type { WebDeps } from '../../deps.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { refusal } from '../../../shared/chat/responses/check.ts'
import { FairQueue } from '../../../shared/platform/fair-queue.ts'

/**
 * Reads of stored responses, by account: each may unpack as much as the longest body has, so one account has one of
 * them in work at a time.
 */
export const reads = new FairQueue({ perHolder: 1, waiting: 32 })

type ResolveDeps = Pick<WebDeps, 'db' | 'config'>

/** The most responses that one request may refer to. */
const MAX_REFERENCES = 1000

/** Of a message no type is needed, and of a reference neither. */
const isReference = ({ type, id, role }: Fields): boolean =>
  type === 'item_reference' || ((type ?? null) === null && role === undefined && isText(id))

const notFound = (param: string, id: unknown): ApiError =>
  new ApiError('previous_response_not_found', {
    param,
    message:
      `${String(id).slice(0, 100)} was not found: it is unknown, has expired, or was not to be stored. ` +
      'Send the conversation as items of input, with store: false.',
  })

/**
 * The body with everything that it refers to in its input.
 * @throws ApiError previous_response_not_found; context_length_exceeded for more than a body may have; rate_limited
 */
export async function withPrevious(deps: ResolveDeps, body: JsonObject, holder: Membership): Promise<JsonObject> {
  const { previous_response_id: previous, input } = body
  requireFewItems(input)
  const items = Array.isArray(input) ? input.map(asFields) : []
  const references = items.filter(isReference)
  if (!isText(previous) && references.length === 0) return body
  requireNames(references)
  const named = isText(previous) ? [callOfResponse(previous)] : []
  const ids = [...new Set([...named, ...references.map(({ id }) => callOfItem(String(id)))])]
  return await reads.during(holder.accountId, async () => {
    const room = deps.config.MAX_DIALECT_BODY_BYTES - bytesAsJson(body)
    const found = await findAll(deps, holder, ids, room)
    const before = isText(previous) ? itemsBefore(previous, found) : []
    const sent = Array.isArray(input) ? withReferred(items, found) : itemsOf({ input })
    return { ...body, input: [...before, ...sent] }
  })
}

/** @throws ApiError invalid_request for more items than a request may have, before any of them is read */
function requireFewItems(input: unknown): void {
  if (Array.isArray(input) && input.length > MOST.items)
    throw refusal('input', `must have at most ${MOST.items} elements`)
}

/** @throws ApiError invalid_request for an item without a name, or that is named twice: it would count each time */
function requireNames(references: readonly Fields[]): void {
  const seen = new Set<string>()
  for (const { id } of references) {
    if (!isText(id))
      throw new ApiError('invalid_request', { param: 'input', message: 'A reference must have the id of an item.' })
    if (seen.has(id))
      throw new ApiError('invalid_request', { param: 'input', message: `Duplicate item: ${id.slice(0, 100)}.` })
    seen.add(id)
  }
}

async function findAll(
  { db }: ResolveDeps,
  holder: Membership,
  ids: (CallId | null)[],
  maxBytes: number,
): Promise<ReadonlyMap<CallId, StoredResponse>> {
  const known = ids.filter((id) => id !== null)
  const found = known.length > MAX_REFERENCES ? null : await findResponses(db, holder, known, maxBytes)
  if (found === null) throw new ApiError('context_length_exceeded', { param: 'input' })
  return found
}

/** All items up to a response, and its answer. */
function itemsBefore(previous: string, found: ReadonlyMap<CallId, StoredResponse>): Fields[] {
  const id = callOfResponse(previous)
  const response = id === null ? undefined : found.get(id)
  if (!response) throw notFound('previous_response_id', previous)
  return [...response.input, ...response.output]
}

/**
 * The items of an input with what they refer to, in time in proportion to all of them.
 * @throws ApiError previous_response_not_found
 */
export function withReferred(items: readonly Fields[], found: ReadonlyMap<CallId, StoredResponse>): Fields[] {
  const byId = itemsById(found)
  return items.map((item) => (isReference(item) ? referredBy(item, byId) : item))
}

type ItemsById = ReadonlyMap<CallId, ReadonlyMap<unknown, Fields>>

/** The items of each response by their ids. Of two with the same id, the one that was answered comes first. */
const itemsById = (found: ReadonlyMap<CallId, StoredResponse>): ItemsById =>
  new Map(
    Array.from(found, ([call, { input, output }]) => [
      call,
      new Map([...output, ...input].toReversed().map((item) => [item.id, item])),
    ]),
  )

function referredBy(item: Fields, byId: ItemsById): Fields {
  const id = callOfItem(String(item.id))
  const meant = id === null ? undefined : byId.get(id)?.get(item.id)
  if (!meant) throw notFound('input', item.id)
  return meant
}
