/**
 * A chat as its client wrote it: the text of its body with the edits of the gateway, for upstreams of the same dialect
 * (docs/upstreams/anthropic.md#json). The limit of the output is under the dialect's own name.
 */
import type { Fields } from '../platform/fields.ts'
import { writtenOver } from '../platform/json-edits.ts'
import type { ChatRequest } from '../requests/requests.ts'
import type { Dialect } from './dialect.ts'
import { dialectOf } from './dialect.ts'

/** A request as it was written, and what `JSON.parse` makes of it. */
export type Written = { text: string; fields: Fields }

/** A valid request, written over the body that it was asked by. */
export function writtenRequest({ text, fields }: Written, request: ChatRequest, dialect: Dialect): string {
  const { limitField } = dialectOf(dialect)
  if (limitField === 'max_tokens') return writtenOver(text, fields, request)
  const { messages: _messages, max_tokens: limit, ...rest } = request
  return writtenOver(text, fields, { ...rest, [limitField]: limit })
}

/** The request that was written. */
export function readRequest(fields: Fields, dialect: Dialect): ChatRequest {
  const { limitField } = dialectOf(dialect)
  if (limitField === 'max_tokens') return fields as ChatRequest
  const { [limitField]: limit, ...rest } = fields
  return { ...rest, messages: [], max_tokens: Number(limit) }
}
