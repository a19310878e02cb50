/**
 * POST /v1/messages: chats in the dialect of Anthropic's Messages API.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { checkMessages } from '../../../shared/chat/messages/check.ts'
import { estimateMessages } from '../../../shared/chat/messages/estimate.ts'
import { messagesBody } from '../../../shared/chat/messages/fields.ts'
import { requireCarried } from '../../../shared/chat/protocols.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { AskedChat } from '../chat/agent-chat.ts'
import { agentAnswers, agentChat, clampedChat, settled } from '../chat/agent-chat.ts'
import { answerWithFrames } from '../calls/streamed-answer.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'
import { MODEL_LISTS } from '../calls/call-schemas.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { callRequestHeaders } from '../declared.ts'
import { typeOfLine } from '../../../shared/chat/answer-form.ts'
import { eventsOfMessage } from '../../../shared/chat/messages/answer.ts'
import { anthropicTypeOf } from '../../../shared/chat/messages/errors.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EventStream } from '../calls/event-stream.ts'

/** What is a message's own of a call. */
export const messagesKind: CallKind<ChatModel, AskedChat> = {
  modality: 'chat',
  dialect: 'messages',
  parse: (body, model, headers, text) => {
    const { request, ...more } = checkMessages(body, model, headers)
    requireCarried(model.routes, request, 'messages')
    return { ...more, ...clampedChat(request, estimateMessages(request, model, text), model) }
  },
  answer: (ctx, deps, placed, asked) =>
    asked.request.stream
      ? answerWithFrames(ctx, deps, placed, { updates: asked.updates, frames: messageEvents })
      : answerWhenDone(ctx, deps, placed),
}

const usage = z.looseObject({
  input_tokens: z.int().meta({ description: 'Input that no cache had a part in.' }),
  cache_creation_input_tokens: z.int().meta({ description: 'Input that was written to a cache.' }),
  cache_read_input_tokens: z.int().meta({ description: 'Input that was read from a cache.' }),
  output_tokens: z.int(),
  ...settled,
})

/** A message as Anthropic's API answers it. */
export const messageResult = z
  .looseObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string(),
    stop_sequence: z.string().nullable(),
    usage,
  })
  .meta({ id: 'MessageResult', description: "Other fields of an upstream's answer are passed on." })

/** Answers a message. Charged on an estimate of its tokens, settled on the real usage. */
export const createMessage = callEndpoint(
  {
    ...agentChat,
    envelope: 'messages',
    path: '/v1/messages',
    summary: "Answer a message, in the form of Anthropic's API",
    description:
      "Anthropic's Messages API over every chat model. An estimate is charged first, with `max_tokens` lowered to " +
      'what can be paid (`X-Max-Output-Tokens` tells the limit), and settled on the real usage at the end. ' +
      'Fields that would cost more than tokens are 400, and so are unknown ones; tools that an upstream would ' +
      'run are left out, and named by `X-Tollgate-Tools-Dropped`.',
    headers: callRequestHeaders.extend({
      'anthropic-version': z
        .string()
        .optional()
        .meta({ description: 'Any value.', examples: ['2023-06-01'] }),
      'anthropic-beta': z.string().optional().meta({ description: 'Those that cost nothing are passed on.' }),
    }),
    body: messagesBody.extend({ fallbacks: MODEL_LISTS.fallbacks.nullish() }).meta({ id: 'MessageRequest' }),
    answers: agentAnswers('message', messageResult, 'Messages API'),
  },
  messagesKind,
)

/** The stream of a message's events. The `message_delta` is held back until the call is settled: it has its usage. */
export const messageEvents: FrameStream = {
  wire: { signOfLife: 'event: ping\ndata: {"type": "ping"}\n\n' },
  begin: (events) => new MessageWriter(events),
}

class MessageWriter implements FrameWriter {
  private last: Fields | null = null
  private readonly events: EventStream

  constructor(events: EventStream) {
    this.events = events
  }

  take(text: string): void {
    const type = typeOfLine(text)!
    if (type !== 'message_delta') return this.events.send(text, type)
    // An upstream may send several message_deltas; their fields are merged into the last.
    const event = JSON.parse(text) as Fields
    this.last = { ...this.last, ...event, delta: { ...asFields(this.last?.delta), ...asFields(event.delta) } }
  }

  replay(answer: Fields): void {
    for (const event of eventsOfMessage(answer)) this.take(JSON.stringify(event))
  }

  end({ usage }: Fields): void {
    this.send({ ...this.last, usage })
    this.send({ type: 'message_stop' })
  }

  refuse(body: Fields): void {
    this.send(body)
  }

  fail(message: string): void {
    this.send({ type: 'error', error: { type: anthropicTypeOf('service_unavailable'), message } })
  }

  private send(event: Fields): void {
    this.events.send(JSON.stringify(event), String(event.type))
  }
}
