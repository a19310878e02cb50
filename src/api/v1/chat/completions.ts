/**
 * POST /v1/chat/completions.
 */
import { checkChat } from '../../../shared/chat/completions/check.ts'
import type { CountedChat } from '../../../shared/chat/completions/estimate.ts'
import { estimateChat } from '../../../shared/chat/completions/estimate.ts'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { DEFAULT_MAX_TOKENS, chatCharge } from '../../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { AskedChat } from './agent-chat.ts'
import { chunksFor } from './completions-stream.ts'
import { answerWithFrames } from '../calls/streamed-answer.ts'
import { CALL_ERRORS, CHAT_EVENTS, accepted, chatHeaders, chatResult, placesCalls } from '../declared.ts'
import { chatBody } from '../calls/call-schemas.ts'
import { loweringOf } from '../calls/call-order.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'

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
  parse: (body, model: ChatModel) => askedOf(body as CountedChat, checkChat(body, model), model),
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
