/**
 * POST /v1/responses: chats in the dialect of OpenAI's Responses API.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { checkResponses } from '../../../shared/chat/responses/check.ts'
import { estimateResponses } from '../../../shared/chat/responses/estimate.ts'
import { responsesBody } from '../../../shared/chat/responses/fields.ts'
import { storeInput } from '../../../shared/calls/stored-responses.ts'
import { itemsOf } from '../../../shared/chat/responses/parts.ts'
import { begunResponse, inputWithIds } from '../../../shared/chat/responses/response.ts'
import type { AccountId } from '../../../shared/platform/ids.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { WebDeps } from '../../deps.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { AskedChat } from '../chat/agent-chat.ts'
import { agentAnswers, agentChat, clampedChat, settled } from '../chat/agent-chat.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { answerWithFrames } from '../calls/streamed-answer.ts'
import type { CallContext, PlacedCall, UpdateListener } from '../calls/placed-call.ts'
import { withPrevious } from './previous.ts'
import { responseEvents } from './stream.ts'

type AskedResponse = AskedChat & { modelId: string }

/** What is a response's own of a call. */
export const responsesKind: CallKind<ChatModel, AskedResponse> = {
  modality: 'chat',
  dialect: 'responses',
  resolve: (deps, body, holder) => withPrevious(deps, body, holder),
  parse: (body, model) => {
    const { request, droppedTools } = checkResponses(body, model)
    const clamped = clampedChat(request, estimateResponses(request, model), model)
    return { ...clamped, droppedTools, modelId: model.id }
  },
  answer: (ctx, deps, placed, { request, modelId, updates }) => {
    const { accountId } = ctx.state.principal
    if (request.store !== false) storeWithAnswer(deps, placed, request, accountId)
    if (request.background === true && !placed.hasEnded) return answerBegun(ctx, placed, { request, modelId, updates })
    return request.stream && request.background !== true
      ? answerWithFrames(ctx, deps, placed, {
          updates,
          frames: responseEvents({ callId: publicId('call', placed.callId), request, model: modelId }),
        })
      : answerWhenDone(ctx, deps, placed)
  },
}

/** Answers with the status of a response in the background. It goes on without its client. */
function answerBegun(
  ctx: CallContext,
  { callId, status }: PlacedCall,
  { request, modelId, updates }: { request: ChatRequest; modelId: string; updates: UpdateListener },
): void {
  updates.attach(() => {})
  const begun = begunResponse(publicId('call', callId), Math.floor(Date.now() / 1000), request)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { ...begun, model: modelId, status: status === 'queued' ? 'queued' : 'in_progress' }
}

/**
 * Stores the input next to the answer, before that is sent: its client may refer to it at once. A client that does not
 * wait, or has disconnected, may refer to it later; if a stream was cut off, its retry stores the input.
 */
function storeWithAnswer({ db, log }: WebDeps, placed: PlacedCall, request: ChatRequest, accountId: AccountId): void {
  const { callId, wait } = placed
  const items = inputWithIds(itemsOf(request), publicId('call', callId))
  const answer = wait.answer.then(async (ended) => {
    if (ended.status !== 200) return ended
    await storeInput(db, { callId, accountId }, items).catch((error: unknown) =>
      log.warn({ call: publicId('call', callId), err: error }, 'input of a response not kept'),
    )
    return ended
  })
  placed.wait = { answer, cancel: placed.relayed || placed.joined ? wait.cancel : () => {} }
}

const usage = z.looseObject({
  input_tokens: z.int().meta({ description: 'All input, the cached one too.' }),
  input_tokens_details: z.looseObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
  ...settled,
})

/** A response as OpenAI's API answers it. */
export const responseResult = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.int(),
    status: z.string(),
    model: z.string(),
    output: z.array(z.looseObject({ type: z.string() })),
    usage: usage.nullable().meta({ description: 'null until it has ended.' }),
  })
  .meta({ id: 'ResponseResult', description: "Other fields of an upstream's answer are passed on." })

/** Answers a request. Charged on an estimate of its tokens, settled on the real usage. */
export const createResponse = callEndpoint(
  {
    ...agentChat,
    envelope: 'responses',
    path: '/v1/responses',
    summary: "Answer a request, in the form of OpenAI's Responses API",
    description:
      "OpenAI's Responses API over every chat model. An estimate is charged first, with `max_output_tokens` lowered " +
      'to what can be paid, and settled on the real usage at the end.',
    body: responsesBody.meta({ id: 'ResponseRequest' }),
    answers: agentAnswers('response', responseResult, 'Responses API'),
    errors: ['previous_response_not_found', ...agentChat.errors],
  },
  responsesKind,
)
