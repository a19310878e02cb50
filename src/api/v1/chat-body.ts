/**
 * Checks the body of a chat: its messages first, then what stands in their parts, then every other field.
 */
import { z } from 'zod'
import { aboutField } from '../../shared/field-errors.ts'
import { imageUrlProblem } from '../../shared/net/addresses.ts'
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import { MAX_ADDRESSES, chatMessages, chatOptions, unknownField } from '../../shared/calls/chat-fields.ts'
import { outputLimit, tokensOfPart } from '../../shared/calls/pricing.ts'
import { isPlainOption, plainMessages } from '../../shared/calls/plain-chats.ts'
import type { ChatMessage, ChatRequest } from '../../shared/calls/requests.ts'
import { addressesOf } from '../../shared/calls/requests.ts'
import { ApiError } from '../../shared/errors.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { parseBody, unknownFieldError } from './schemas.ts'

const messagesOnly = z.object({ messages: chatMessages })

/** What a model decides of a body: the fields beyond the list, the kinds of parts, and the most output. */
export type BodyRules = Pick<ChatModel, 'maxOutputTokens' | 'partTokens'> & {
  upstreams: readonly Pick<ChatModel['upstreams'][number], 'allow'>[]
}

/**
 * The job's request of a valid body: only fields that may be sent on. Both names of the output limit become one, which
 * is always set: an upstream is never allowed more than the pre-charge paid for.
 * @throws ApiError invalid_messages, or invalid_request that names the field.
 */
export function parseChat(body: JsonObject, model: BodyRules): ChatRequest {
  const messages = plainMessages(body.messages) ?? parseMessages(body)
  checkParts(messages, model.partTokens)
  const allowed = model.upstreams.flatMap(({ allow }) => allow)
  const unknown = unknownField(body, allowed)
  if (unknown !== null) throw unknownFieldError([unknown])
  const { max_tokens, max_completion_tokens, ...options } = parseOptions(body)
  const given = allowed.filter((field) => Object.hasOwn(body, field))
  const further = Object.fromEntries(given.map((field) => [field, body[field]]))
  const limit = outputLimit(max_tokens ?? max_completion_tokens, model.maxOutputTokens)
  return { ...further, ...options, messages, max_tokens: limit }
}

/** @throws ApiError invalid_messages. */
const parseMessages = ({ messages }: JsonObject): ChatMessage[] =>
  parseBody(messagesOnly, { messages }).messages as ChatMessage[]

const OPTIONS = new Map<string, z.ZodType>(Object.entries(chatOptions.shape))

type Options = Partial<z.infer<typeof chatOptions>>

/**
 * The options of a body. Its schema looks at all of them, in each request; few requests have more than three.
 * @throws ApiError invalid_request that names the field.
 */
function parseOptions(body: JsonObject): Options {
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    if (isPlainOption(name, value)) {
      options[name] = value
      continue
    }
    const parsed = OPTIONS.get(name)?.safeParse(value)
    // The whole says what is wrong with it.
    if (parsed?.success === false) return parseBody(chatOptions, body)
    if (parsed?.data !== undefined) options[name] = parsed.data
  }
  return options
}

/**
 * Checks the parts of messages: kinds that the model does not price are refused, and every address in them must be one
 * that may be fetched.
 * @throws ApiError invalid_messages for a kind or too many addresses, invalid_request that names a bad address.
 */
function checkParts(messages: readonly ChatMessage[], partTokens: ChatModel['partTokens']): void {
  let addresses = 0
  for (const [index, message] of messages.entries()) {
    for (const { at, field, url } of addressesOf(message)) {
      const param = `messages[${index}].content[${at}].${field}`
      const problem = typeof url === 'string' ? imageUrlProblem(url) : 'must be an address'
      if (problem !== null) throw new ApiError('invalid_request', { param, message: aboutField(param, problem) })
      if (/^http/i.test(url as string)) addresses++
      if (addresses > MAX_ADDRESSES) throw badMessages('messages', `must have at most ${MAX_ADDRESSES} addresses`)
    }
    if (!Array.isArray(message.content)) continue
    const odd = message.content.findIndex(({ type }: { type: unknown }) => tokensOfPart(type, partTokens) === null)
    if (odd >= 0) throw badMessages(`messages[${index}].content[${odd}].type`, 'is not accepted by this model')
  }
}

const badMessages = (param: string, fault: string): ApiError =>
  new ApiError('invalid_messages', { param, message: aboutField(param, fault) })
