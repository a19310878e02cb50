/**
 * POST /v1/chat/completions.
 */
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import type { CountedChat, Tokens } from '../../shared/requests/pricing.ts'
import { DEFAULT_MAX_TOKENS, chatCharge, estimateTokens, limitWithin } from '../../shared/requests/pricing.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import { apiKey } from '../endpoint/auth.ts'
import { answerWhenDone } from './calls/answer-call.ts'
import { parseChat } from './calls/chat-body.ts'
import { chunksFor } from './calls/chat-stream.ts'
import { answerWithFrames } from './calls/streamed-answer.ts'
import {
  CALL_ERRORS,
  CALL_LIMITS,
  CHAT_EVENTS,
  accepted,
  callRequestHeaders,
  chatHeaders,
  chatResult,
  gateway,
} from './declared.ts'
import { chatBody } from './calls/call-schemas.ts'
import type { Lowered } from './calls/call-order.ts'
import type { CallKind } from './calls/serve-call.ts'
import { callEndpoint } from './calls/serve-call.ts'

type AskedChat = {
  request: ChatRequest
  estimate: Tokens
  charge: number
  lowerTo: ((credits: number, least: number) => Lowered | null) | undefined
}

/**
 * What a chat is to cost. Where it leaves its output to a model that gives more than 1024 tokens, the limit is lowered
 * to what can be paid.
 */
function askedOf(body: CountedChat, request: ChatRequest, model: ChatModel): AskedChat {
  // What is left out of an assistant's messages is not charged either.
  const counted = { ...body, messages: request.messages }
  const estimate = estimateTokens(counted, model)
  const { max_tokens: limit, n: choices = 1 } = request
  const isGiven = (body.max_tokens ?? body.max_completion_tokens ?? null) !== null
  const lower = (credits: number, least: number): Lowered | null => {
    const maxTokens = limitWithin(credits, model.price, { limit, choices, estimate, least })
    if (maxTokens === null) return null
    const lowered = { ...estimate, output: estimate.output - (limit - maxTokens) * choices }
    return { maxTokens, estimate: lowered, charge: chatCharge(model.price, lowered) }
  }
  const lowerTo = isGiven || limit <= DEFAULT_MAX_TOKENS ? undefined : lower
  return { request, estimate, charge: chatCharge(model.price, estimate), lowerTo }
}

/** What is specific to chats. */
export const chatKind: CallKind<ChatModel, AskedChat> = {
  modality: 'chat',
  parse: (body, model: ChatModel) => askedOf(body as CountedChat, parseChat(body, model), model),
  answer: (ctx, deps, placed, asked) =>
    asked.request.stream
      ? answerWithFrames(ctx, deps, placed, { updates: asked.updates, frames: chunksFor(placed, asked.request) })
      : answerWhenDone(ctx, deps, placed),
}

/** Completes a chat. Charged on an estimate of its tokens, settled on the real usage. */
export const completeChat = callEndpoint(
  {
    ...gateway,
    method: 'post',
    path: '/v1/chat/completions',
    summary: 'Complete a chat',
    description:
      'An estimate is charged first, and settled on the real usage at the end. ' +
      'Other fields are refused, unless an upstream of the model allows them.',
    auth: apiKey,
    limits: CALL_LIMITS,
    headers: callRequestHeaders,
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
