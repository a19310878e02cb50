/**
 * Messages for clients of the Messages API: the body as it came but for a closed list of edits, and the events as they
 * come (docs/upstreams/anthropic.md#same-dialect).
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { LONG_CACHES, longCacheIn, withShortCaches } from '../../../shared/chat/messages/cache-marks.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FIELDS } from '../../../shared/chat/messages/fields.ts'
import { asFields, isFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { PassThrough } from '../translation.ts'
import { MessagesDecoder } from './decode-answer.ts'
import { ANTHROPIC } from '../../../shared/chat/messages/carries.ts'
import { pictureType } from '../../../shared/chat/picture-types.ts'
import { isSealed } from '../../../shared/chat/seal.ts'
import { closedSchema } from '../../../shared/chat/schemas.ts'
import { CallIds } from '../sent-names.ts'

/** The smallest budget of thinking that the API takes, in tokens. */
const LEAST_THINKING = 1024

/** The body that is sent, but for its model and its stream. Another upstream of the model may be allowed more. */
export function passed(request: ChatRequest, { allow }: Pick<Route, 'allow'>): Fields {
  const isLong = !allow.includes(LONG_CACHES) && longCacheIn(request) !== null
  const marked = isLong ? withShortCaches(request) : request
  const {
    messages,
    tools,
    thinking,
    service_tier: tier,
    system,
    output_config: config,
    ...rest
  } = marked as ChatRequest & Fields
  const mayTier = allow.includes('service_tier') && isText(tier)
  return {
    ...sentFields(rest, FIELDS.free, allow),
    ...spoken('system', system),
    messages: corrected(messages),
    ...(config !== undefined && { output_config: withClosedSchema(asFields(config)) }),
    ...(tools !== undefined && { tools: (tools as Fields[]).map(toolOf) }),
    ...(thinking !== undefined && { thinking: thinkingOf(asFields(thinking), request.max_tokens) }),
    service_tier: mayTier ? tier : 'standard_only',
  }
}

/** The fields of a body whose input is to be counted: the API refuses all that is about the output. */
const COUNTED = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'context_management',
]

/** Of a body that is sent what the API takes where it is to count the input. */
export const counted = (body: Fields): Fields =>
  Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED.includes(name)))

/** A schema must be one of an object, and closed if the model must follow it. */
function toolOf(tool: Fields): Fields {
  const { input_schema: schema, strict } = tool
  if (!isFields(schema)) return tool
  const typed = (schema.type ?? null) === null ? { ...schema, type: 'object' } : schema
  return changed(tool, { input_schema: strict === true ? closedSchema(typed) : typed })
}

/** A budget of thinking goes down with the limit of the output, which has to be larger. */
function thinkingOf(thinking: Fields, maxTokens: number): Fields {
  const { budget_tokens: budget } = thinking
  if (typeof budget !== 'number' || budget < maxTokens) return thinking
  return maxTokens > LEAST_THINKING ? { ...thinking, budget_tokens: maxTokens - 1 } : { type: 'disabled' }
}

/** A schema that the answer must follow, as a Claude takes it. */
function withClosedSchema(config: Fields): Fields {
  const { schema } = asFields(config.format)
  return isFields(schema) ? { ...config, format: { ...asFields(config.format), schema: closedSchema(schema) } } : config
}

/** The API refuses a conversation that does not begin with a user, and a turn without content. */
const NOTHING: Fields = { role: 'user', content: '.' }

/**
 * The messages without what the API refuses: thoughts that nobody signed, or that others than it did, texts of white
 * space, turns in which nothing else was, ids of other alphabets or of several calls, and wrong types of pictures.
 */
function corrected(messages: readonly Fields[]): Fields[] {
  const ids = new CallIds(ANTHROPIC)
  const kept = messages.flatMap((message) => {
    const { content } = spoken('content', message.content, ids)
    return content === undefined ? [] : [content === message.content ? message : { ...message, content }]
  })
  const hasLostFirst = messages[0]?.role === 'user' && kept[0]?.role === 'assistant'
  return kept.length === 0 || hasLostFirst ? [NOTHING, ...kept] : kept
}

/** A field of a text or blocks, as the API takes it; nothing, if it has no words. */
function spoken(name: string, content: unknown, ids = new CallIds(ANTHROPIC)): Fields {
  if (!Array.isArray(content)) return isBlank(content) ? {} : { [name]: content }
  const blocks = content as Fields[]
  const kept = blocks.filter(isKept).map((block) => sentBlock(block, ids))
  if (kept.length === 0) return {}
  const isSame = kept.length === blocks.length && kept.every((block, at) => block === blocks[at])
  return { [name]: isSame ? content : kept }
}

const isBlank = (text: unknown): boolean => (text ?? null) === null || (typeof text === 'string' && text.trim() === '')

function isKept({ type, text, signature, data }: Fields): boolean {
  if (type === 'text') return !isBlank(text)
  if (type === 'thinking') return isText(signature) && !isSealed(signature)
  return !(type === 'redacted_thinking' && isSealed(String(data)))
}

/** A block with what the API takes in its place: the same one, if nothing changes. */
function sentBlock(block: Fields, ids: CallIds): Fields {
  switch (block.type) {
    case 'tool_use':
      return changed(block, { id: ids.ofCall(String(block.id)) })
    case 'tool_result': {
      const { content, ...rest } = block
      const id = { tool_use_id: ids.ofResult(String(block.tool_use_id)) }
      const words = spoken('content', content)
      // The API refuses an error without content.
      const said = words.content === undefined && block.is_error === true ? { content: NOTHING.content } : words
      return content !== undefined && said.content === undefined
        ? { ...rest, ...id }
        : changed(block, { ...said, ...id })
    }
    case 'image': {
      const { source } = block
      const { type, media_type: given, data } = asFields(source)
      if (type !== 'base64') return block
      return changed(block, {
        source: changed(asFields(source), { media_type: pictureType(String(data), String(given)) }),
      })
    }
    case 'search_result':
      return changed(block, spoken('content', block.content))
    case 'document': {
      const { source } = block
      const { content } = asFields(source)
      return Array.isArray(content)
        ? changed(block, { source: changed(asFields(source), spoken('content', content)) })
        : block
    }
    default:
      return block
  }
}

/** The fields with others in their place: the same object, if they have these already. */
const changed = (fields: Fields, others: Fields): Fields =>
  Object.entries(others).every(([name, value]) => fields[name] === value) ? fields : { ...fields, ...others }

/** Passes the events of one answer as they came, completed. */
export class MessagesPassThrough extends PassThrough {
  /** @param inputTokens our own count of the input */
  constructor(inputTokens = 0) {
    super(new MessagesDecoder(inputTokens))
  }

  protected passedOn(event: Fields): Fields[] {
    return [event]
  }
}
