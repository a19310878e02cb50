/**
 * Messages for clients of the Messages API: the body as it came but for a closed list of edits, and the events as they
 * come (docs/upstreams/anthropic.md#same-dialect).
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { eventsOfMessage } from '../../../shared/chat/messages/answer.ts'
import { LONG_CACHES, withShortCaches } from '../../../shared/chat/messages/cache-marks.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FIELDS } from '../../../shared/chat/messages/fields.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { PassThrough } from '../translation.ts'
import { MessagesDecoder, isMessage } from './decode-answer.ts'
import { SafeNames } from './safe-names.ts'

/** The smallest budget of thinking that the API takes, in tokens. */
const LEAST_THINKING = 1024

/** The body that is sent, but for its model and its stream. Another upstream of the model may be allowed more. */
export function passed(request: ChatRequest, { allow }: Pick<Route, 'allow'>): Fields {
  const marked = allow.includes(LONG_CACHES) ? request : withShortCaches(request)
  const { messages, tools, thinking, service_tier: tier, ...rest } = marked as ChatRequest & Fields
  const mayTier = allow.includes('service_tier') && isText(tier)
  return {
    ...sentFields(rest, FIELDS.free, allow),
    messages: corrected(messages),
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

/** A schema must be one of an object. */
function toolOf(tool: Fields): Fields {
  const { input_schema: schema } = tool
  return schema === undefined || asFields(schema).type !== undefined
    ? tool
    : { ...tool, input_schema: { type: 'object', ...asFields(schema) } }
}

/** A budget of thinking goes down with the limit of the output, which has to be larger. */
function thinkingOf(thinking: Fields, maxTokens: number): Fields {
  const { budget_tokens: budget } = thinking
  if (typeof budget !== 'number' || budget < maxTokens) return thinking
  return maxTokens > LEAST_THINKING ? { ...thinking, budget_tokens: maxTokens - 1 } : { type: 'disabled' }
}

/**
 * The messages without what the API refuses: thoughts that nobody signed, texts of white space, turns in which nothing
 * else was, and ids of other alphabets.
 */
function corrected(messages: readonly Fields[]): Fields[] {
  const ids = new SafeNames()
  return messages.flatMap((message) => {
    const { content } = message
    if (!Array.isArray(content)) return [message]
    const kept = (content as Fields[]).filter(isKept).map((block) => withId(block, ids))
    if (kept.every((block, at) => block === content[at]) && kept.length === content.length) return [message]
    // An empty turn is refused, too.
    return kept.length > 0 ? [{ ...message, content: kept }] : []
  })
}

const isKept = ({ type, text, signature }: Fields): boolean =>
  !(type === 'thinking' && !isText(signature)) && !(type === 'text' && String(text).trim() === '')

function withId(block: Fields, ids: SafeNames): Fields {
  const field = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : null
  if (field === null) return block
  const id = ids.of(String(block[field]))
  return id === block[field] ? block : { ...block, [field]: id }
}

const EVENTS: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
])

/** Passes the events of one answer as they came. */
export class MessagesPassThrough extends PassThrough {
  private hasStarted = false

  constructor() {
    super(new MessagesDecoder())
  }

  protected passedOn(event: Fields, isWhole: boolean): Fields[] {
    const frames = isMessage(event, isWhole) ? eventsOfMessage(event) : [event]
    return frames.filter((frame) => EVENTS.has(frame.type) && !this.isSecondStart(frame))
  }

  /** SDKs throw on a second `message_start`. */
  private isSecondStart({ type }: Fields): boolean {
    const isStart = type === 'message_start'
    const isSecond = isStart && this.hasStarted
    this.hasStarted ||= isStart
    return isSecond
  }
}
