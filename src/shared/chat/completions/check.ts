/** Checks the body of a chat: its messages first, then the parts of their contents, then every other field. */
import { z } from 'zod'
import { ApiError } from '../../platform/errors.ts'
import { aboutField, fieldRefusal } from '../../platform/field-errors.ts'
import { asFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { outputLimit, tokensOfPart } from '../../terms/pricing.ts'
import { plainImageUrl } from '../../media/media.ts'
import { imageUrlProblem } from '../../requests/addresses.ts'
import { parseBody, unknownFieldError } from '../../requests/parse-body.ts'
import type { ChatMessage, ChatRequest } from '../../requests/requests.ts'
import type { BodyRules } from '../check-body.ts'
import { allowedBy } from '../check-body.ts'
import { MAX_ADDRESSES } from '../parts.ts'
import { addressesOf, withImages } from './parts.ts'
import { FREE_FIELDS, chatOptions, passingOptions } from './fields.ts'
import { chatMessages } from './messages.ts'

const messagesOnly = z.object({ messages: chatMessages })

/**
 * The job's request of a valid body: only fields that may be sent on. Both names of the output limit become one, which
 * is always set: an upstream is never allowed more than the pre-charge paid for.
 * @throws ApiError invalid_messages, or invalid_request that names the field.
 */
export function checkChat(body: Fields, model: BodyRules): ChatRequest {
  const accepted = acceptedParts(messagesOf(body), model.partTokens)
  const messages = accepted.map((message) => withImages(message, (url) => plainImageUrl(url as string)))
  const further = furtherFields(body, allowedBy(model))
  const { max_tokens, max_completion_tokens, ...options } = passingOptions(
    parseBody(chatOptions, without(body, further)),
  )
  const limit = outputLimit(max_tokens ?? max_completion_tokens, model)
  return { ...further, ...options, messages, max_tokens: limit }
}

const without = (body: Fields, further: Fields): Fields =>
  Object.fromEntries(Object.entries(body).filter(([field]) => !Object.hasOwn(further, field)))

/** The fields that an upstream's `allow` alone lets pass, as they are. @throws ApiError for those that nothing does */
function furtherFields(body: Fields, allowed: ReadonlySet<string>): Fields {
  const further = Object.entries(body).filter(([name, value]) => value !== null && !FREE_FIELDS.has(name))
  const unknown = further.find(([name]) => !allowed.has(name) && !Object.hasOwn(chatOptions.shape, name))
  if (unknown) throw unknownFieldError([unknown[0]])
  return Object.fromEntries(further.filter(([name]) => allowed.has(name)))
}

/** @throws ApiError invalid_messages. */
const messagesOf = ({ messages }: Fields): ChatMessage[] =>
  parseBody(messagesOnly, { messages }).messages as ChatMessage[]

/**
 * The messages with the parts that the model takes. A kind that it does not price is refused, but for what an assistant
 * wrote in it, which is omitted. Every address in the parts must be one that may be fetched.
 * @throws ApiError invalid_messages for a kind or too many addresses, invalid_request that names a bad address.
 */
function acceptedParts(messages: readonly ChatMessage[], partTokens: BodyRules['partTokens']): ChatMessage[] {
  const isPriced = ({ type }: { type: unknown }): boolean => tokensOfPart(type, partTokens) !== null
  const kept = messages.map((message) =>
    message.role === 'assistant' && Array.isArray(message.content) ? withoutParts(message, isPriced) : message,
  )
  checkAddresses(kept)
  for (const [index, { content }] of kept.entries()) {
    const odd = Array.isArray(content) ? content.findIndex((part: { type: unknown }) => !isPriced(part)) : -1
    const named = Array.isArray(content) ? (content as Fields[]).findIndex(namesFile) : -1
    if (named >= 0)
      throw badMessages(`messages[${index}].content[${named}].file.file_id`, 'names a file of the API: send its data')
    if (odd >= 0) throw badMessages(`messages[${index}].content[${odd}].type`, 'is not accepted by this model')
  }
  return kept
}

/** Whether a part is a file of the API's own, which is input that cannot be counted. */
const namesFile = ({ file }: Fields): boolean => (asFields(file).file_id ?? null) !== null

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

/** The refusal of what is at a path: messages have a code of their own. */
export const chatRefusal = (param: string, fault: string): ApiError =>
  param.startsWith('messages') ? badMessages(param, fault) : fieldRefusal(param, fault)
