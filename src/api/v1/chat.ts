/**
 * POST /v1/chat/completions.
 */
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import type { CountedChat, Tokens } from '../../shared/calls/pricing.ts'
import { chatCharge, estimateTokens } from '../../shared/calls/pricing.ts'
import type { ChatRequest } from '../../shared/calls/requests.ts'
import { apiKey } from '../who.ts'
import { answerWhenDone } from './answer.ts'
import { parseChat } from './chat-body.ts'
import { answerWithChunks } from './chat-stream.ts'
import {
  CALL_ERRORS,
  CALL_LIMITS,
  CHAT_EVENTS,
  accepted,
  callHeaders,
  callRequestHeaders,
  chatResult,
  gateway,
} from './declared.ts'
import { chatBody } from './schemas.ts'
import type { CallKind } from './serve-call.ts'
import { callEndpoint } from './serve-call.ts'

type AskedChat = { request: ChatRequest; estimate: Tokens; charge: number }

/** What is a chat's own of a call. */
export const chatKind: CallKind<ChatModel, AskedChat> = {
  modality: 'chat',
  parse: (body, model: ChatModel) => {
    const request = parseChat(body, model)
    const estimate = estimateTokens(body as CountedChat, model)
    return { request, estimate, charge: chatCharge(model.price, estimate) }
  },
  answer: (ctx, deps, placed, { request, updates }) =>
    request.stream ? answerWithChunks(ctx, deps, placed, updates) : answerWhenDone(ctx, deps, placed),
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
    who: apiKey,
    limits: CALL_LIMITS,
    headers: callRequestHeaders,
    body: chatBody,
    answers: {
      200: {
        description: 'The completion.',
        schema: chatResult,
        headers: callHeaders,
        content: { 'text/event-stream': CHAT_EVENTS },
      },
      202: accepted,
    },
    errors: ['invalid_messages', ...CALL_ERRORS],
  },
  chatKind,
)
