/**
 * POST /v1/chat/completions.
 */
import { checkChat } from '../../../shared/chat/completions/check.ts'
import type { CountedChat } from '../../../shared/chat/completions/estimate.ts'
import { estimateChat } from '../../../shared/chat/completions/estimate.ts'
import { requireCarried } from '../../../shared/chat/protocols.ts'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { DEFAULT_MAX_TOKENS, chatCharge } from '../../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { AskedChat } from './agent-chat.ts'
import { answerWithFrames } from '../calls/streamed-answer.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'
import { CALL_ERRORS, CHAT_EVENTS, accepted, chatHeaders, chatResult, placesCalls } from '../declared.ts'
import { chatBody } from '../calls/call-schemas.ts'
import { loweringOf } from '../calls/call-order.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { gatewayError } from '../../../shared/platform/errors.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EventStream } from '../calls/event-stream.ts'

/**
 * What a chat is to cost. Where it states no limit and its model gives more than 1024 tokens, the limit is lowered to
 * what can be paid.
 */
function askedOf(body: CountedChat, request: ChatRequest, model: ChatModel): AskedChat {
  // What is left out of an assistant's messages is not charged either.
  const counted = { ...body, messages: request.messages }
  const estimate = estimateChat(counted, model)
  const { max_tokens: limit, n: choices = 1 } = request
  const isGiven = (body.max_tokens ?? body.max_completion_tokens ?? null) !== null
  const isFixed = isGiven || limit <= DEFAULT_MAX_TOKENS
  const lowerTo = isFixed ? undefined : loweringOf(model.price, { limit, choices, estimate })
  return { request, estimate, charge: chatCharge(model.price, estimate), lowerTo }
}

/** What is specific to chats. */
export const chatKind: CallKind<ChatModel, AskedChat> = {
  modality: 'chat',
  parse: (body, model: ChatModel) => {
    const request = checkChat(body, model)
    requireCarried(model.routes, request)
    return askedOf(body as CountedChat, request, model)
  },
  answer: (ctx, deps, placed, asked) =>
    asked.request.stream
      ? answerWithFrames(ctx, deps, placed, { updates: asked.updates, frames: chunksFor(asked.request) })
      : answerWhenDone(ctx, deps, placed),
}

/** Completes a chat. Charged on an estimate of its tokens, settled on the real usage. */
export const completeChat = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/chat/completions',
    summary: 'Complete a chat',
    description:
      'An estimate is charged first, and settled on the real usage at the end. ' +
      'Other fields are refused, unless an upstream of the model allows them.',
    body: chatBody,
    answers: {
      200: {
        description: 'The completion.',
        schema: chatResult,
        headers: chatHeaders,
        content: { 'text/event-stream': CHAT_EVENTS },
      },
      202: accepted,
    },
    errors: ['invalid_messages', ...CALL_ERRORS],
  },
  chatKind,
)

type Completion = { id: string; created: number; model: string; choices: Choice[] }
type Choice = { index: number; message: { tool_calls?: object[]; [field: string]: unknown }; finish_reason: string }

const asksForUsage = ({ stream_options: options }: ChatRequest): boolean =>
  (options as { include_usage?: boolean } | undefined)?.include_usage === true

/**
 * The stream of a chat in OpenAI's form: chunks, the last one with the usage, then `[DONE]`
 * (docs/api/chats.md#streaming). Many clients read `choices[0]` of every chunk: one without choices is sent only to
 * those that ask for it by `stream_options.include_usage`.
 */
export const chunksFor = (request: ChatRequest): FrameStream => ({
  begin: (events) => new ChunkWriter(events, asksForUsage(request)),
})

/**
 * What a chunk contains in which a choice ends. It is JSON of our own making: within a text the quotes would be
 * escaped.
 */
const END_OF_CHOICE = '"finish_reason":"'

/**
 * Writes the chunks of a placed call. From the first end of a choice on the newest chunk is held back: the last one is
 * to carry the usage.
 */
class ChunkWriter implements FrameWriter {
  private held: string | null = null
  private readonly events: EventStream
  private readonly ownUsage: boolean

  /** @param ownUsage whether the usage is sent in a chunk of its own, which has no choices */
  constructor(events: EventStream, ownUsage: boolean) {
    this.events = events
    this.ownUsage = ownUsage
  }

  take(chunk: string): void {
    const isHeld = this.held !== null || chunk.includes(END_OF_CHOICE)
    this.release()
    if (isHeld) this.held = chunk
    else this.events.send(chunk)
  }

  /** The content and the end of each choice. */
  replay(answer: Fields): void {
    const body = answer as Completion
    for (const { index, message, finish_reason } of body.choices) {
      const delta = message.tool_calls
        ? { ...message, tool_calls: message.tool_calls.map((call, at) => ({ index: at, ...call })) }
        : message
      this.take(chunkOf(body, { choices: [{ index, delta, finish_reason: null }] }))
      this.take(chunkOf(body, { choices: [{ index, delta: {}, finish_reason }] }))
    }
  }

  end(answer: Fields): void {
    const { usage } = answer
    const last = this.held
    if (this.ownUsage || last === null) {
      this.release()
      this.events.send(chunkOf(answer as Completion, { choices: [], usage }))
    } else this.events.send(JSON.stringify({ ...(JSON.parse(last) as object), usage }))
    this.events.send('[DONE]')
  }

  refuse({ error }: Fields): void {
    this.release()
    this.events.send(JSON.stringify({ ok: false, error }))
  }

  fail(message: string): void {
    this.refuse({ error: gatewayError('service_unavailable', message) })
  }

  private release(): void {
    if (this.held !== null) this.events.send(this.held)
    this.held = null
  }
}

const chunkOf = ({ id, created, model }: Completion, fields: object): string =>
  JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields })
