/** Checks the body of a chat: its messages first, then the parts of their contents, then every other field. */
import { z } from 'zod'
import { aboutField, fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { plainImageUrl } from '../../../shared/media/media.ts'
import { imageUrlProblem } from '../../../shared/requests/addresses.ts'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import {
  MAX_ADDRESSES,
  chatOptions,
  furtherFields,
  passingOptions,
  unknownField,
} from '../../../shared/chat/completions/fields.ts'
import { chatMessages } from '../../../shared/chat/completions/messages.ts'
import { outputLimit, tokensOfPart } from '../../../shared/terms/pricing.ts'
import type { ChatMessage, ChatRequest } from '../../../shared/requests/requests.ts'
import { addressesOf, withImages } from '../../../shared/requests/requests.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { parseBody, unknownFieldError } from '../calls/call-schemas.ts'

const messagesOnly = z.object({ messages: chatMessages })

/** What a model decides of a body: the fields beyond the list, the kinds of parts, and the most output. */
export type BodyRules = Pick<ChatModel, 'maxOutputTokens' | 'defaultOutputTokens' | 'partTokens'> & {
  upstreams: readonly Pick<ChatModel['upstreams'][number], 'allow'>[]
}

/**
 * The job's request of a valid body: only fields that may be sent on. Both names of the output limit become one, which
 * is always set: an upstream is never allowed more than the pre-charge paid for.
 * @throws ApiError invalid_messages, or invalid_request that names the field.
 */
export function parseChat(body: JsonObject, model: BodyRules): ChatRequest {
  const accepted = acceptedParts(parseMessages(body), model.partTokens)
  const messages = accepted.map((message) => withImages(message, (url) => plainImageUrl(url as string)))
  const allowed = model.upstreams.flatMap(({ allow }) => allow)
  const unknown = unknownField(body, allowed)
  if (unknown !== null) throw unknownFieldError([unknown])
  const further = furtherFields(body, allowed)
  const { max_tokens, max_completion_tokens, ...options } = passingOptions(
    parseBody(chatOptions, without(body, further)),
  )
  const limit = outputLimit(max_tokens ?? max_completion_tokens, model)
  return { ...further, ...options, messages, max_tokens: limit }
}

const without = (body: JsonObject, further: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([field]) => !Object.hasOwn(further, field)))

/** @throws ApiError invalid_messages. */
const parseMessages = ({ messages }: JsonObject): ChatMessage[] =>
  parseBody(messagesOnly, { messages }).messages as ChatMessage[]

/**
 * The messages with the parts that the model takes. A kind that it does not price is refused, but for what an assistant
 * said in it, which is left out. Every address in the parts must be one that may be fetched.
 * @throws ApiError invalid_messages for a kind or too many addresses, invalid_request that names a bad address.
 */
function acceptedParts(messages: readonly ChatMessage[], partTokens: ChatModel['partTokens']): ChatMessage[] {
  const isPriced = ({ type }: { type: unknown }): boolean => tokensOfPart(type, partTokens) !== null
  const kept = messages.map((message) =>
    message.role === 'assistant' && Array.isArray(message.content) ? withoutParts(message, isPriced) : message,
  )
  checkAddresses(kept)
  for (const [index, { content }] of kept.entries()) {
    const odd = Array.isArray(content) ? content.findIndex((part: { type: unknown }) => !isPriced(part)) : -1
    if (odd >= 0) throw badMessages(`messages[${index}].content[${odd}].type`, 'is not accepted by this model')
  }
  return kept
}

function withoutParts(message: ChatMessage, isKept: (part: { type: unknown }) => boolean): ChatMessage {
  const content = (message.content as { type: unknown }[]).filter(isKept)
  if (content.length === (message.content as unknown[]).length) return message
  return { ...message, content: content.length > 0 ? content : '' }
}

/** @throws ApiError invalid_messages for too many addresses, invalid_request that names a bad one. */
function checkAddresses(messages: readonly ChatMessage[]): void {
  let addresses = 0
  for (const [index, message] of messages.entries()) {
    for (const { at, field, url } of addressesOf(message)) {
      const param = `messages[${index}].content[${at}].${field}`
      const problem = typeof url === 'string' ? imageUrlProblem(url) : 'must be an address'
      if (problem !== null) throw fieldRefusal(param, problem)
      if (/^http/i.test(url as string)) addresses++
      if (addresses > MAX_ADDRESSES) throw badMessages('messages', `must have at most ${MAX_ADDRESSES} addresses`)
    }
  }
}

const badMessages = (param: string, fault: string): ApiError =>
  new ApiError('invalid_messages', { param, message: aboutField(param, fault) })
