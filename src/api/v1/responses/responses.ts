/**
 * POST /v1/responses: chats in the dialect of OpenAI's Responses API.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { checkResponses } from '../../../shared/chat/responses/check.ts'
import { estimateResponses } from '../../../shared/chat/responses/estimate.ts'
import { responsesBody } from '../../../shared/chat/responses/fields.ts'
import { requireCarried } from '../../../shared/chat/protocols.ts'
import { storeInput, storeInputFirst } from '../../../shared/calls/stored-responses.ts'
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
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'
import type { CallContext, PlacedCall, UpdateListener } from '../calls/placed-call.ts'
import { MODEL_LISTS } from '../calls/call-schemas.ts'
import { withPrevious } from './previous.ts'
import { typeOfLine } from '../../../shared/chat/answer-form.ts'
import { endOfResponse, eventsOfResponse } from '../../../shared/chat/responses/answer.ts'
import { isEnd } from '../../../shared/chat/responses/join-frames.ts'
import { itemDone, piecesOf } from '../../../shared/chat/responses/items.ts'
import { asFields, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EventStream } from '../calls/event-stream.ts'

type AskedResponse = AskedChat & { modelId: string }

/** What is a response's own of a call. */
export const responsesKind: CallKind<ChatModel, AskedResponse> = {
  modality: 'chat',
  dialect: 'responses',
  resolve: (deps, body, holder) => withPrevious(deps, body, holder),
  parse: (body, model, _headers, text) => {
    const { request, droppedTools } = checkResponses(body, model)
    requireCarried(model.routes, request, 'responses')
    const clamped = clampedChat(request, estimateResponses(request, model, text), model)
    return { ...clamped, droppedTools, modelId: model.id }
  },
  answer: async (ctx, deps, placed, { request, modelId, updates }) => {
    const { accountId } = ctx.state.principal
    const isBegun = request.background === true && !placed.hasEnded
    if (request.store !== false) await storing(deps, placed, { request, accountId, isBegun })
    if (isBegun) return answerBegun(ctx, placed, { request, modelId, updates })
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

type Storing = { request: ChatRequest; accountId: AccountId; isBegun: boolean }

/**
 * Stores the input of a response: at once if it is in the background, or else next to the answer, before that is sent.
 * Either way its client may refer to it as soon as it has the answer. If a stream was cut off, its retry stores the
 * input.
 */
async function storing(deps: WebDeps, placed: PlacedCall, { request, accountId, isBegun }: Storing): Promise<void> {
  const { callId, wait } = placed
  const items = inputWithIds(itemsOf(request), publicId('call', callId))
  const stored = { callId, accountId }
  const warn = (error: unknown): void =>
    deps.log.warn({ call: publicId('call', callId), err: error }, 'input of a response not stored')
  if (isBegun) return storeInputFirst(deps.db, stored, items).catch(warn)
  const answer = wait.answer.then(async (ended) => {
    if (ended.status === 200) await storeInput(deps.db, stored, items).catch(warn)
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
    body: responsesBody.extend({ models: MODEL_LISTS.models.nullish() }).meta({ id: 'ResponseRequest' }),
    answers: agentAnswers('response', responseResult, 'Responses API'),
    errors: ['previous_response_not_found', ...agentChat.errors],
  },
  responsesKind,
)

/** The response that is streamed: the public id of its call, its request, and the id of its model. */
type Streamed = { callId: string; request: ChatRequest; model: string }

/**
 * The stream of a response's events, numbered as they are sent. The last one is held back until the call is settled: it
 * carries the whole answer, with the usage that was charged.
 */
export const responseEvents = (streamed: Streamed): FrameStream => ({
  begin: (events) => new ResponseWriter(events, streamed),
})

/** What the clients of OpenAI understand of why a response failed, by our codes; of others `server_error`. */
const FAILURES: Readonly<Record<string, string>> = {
  context_length_exceeded: 'context_length_exceeded',
  content_policy_violation: 'invalid_prompt',
  overloaded: 'server_is_overloaded',
}

/** The item that is open, and how many of its pieces are begun and ended. */
type OpenItem = { index: number; begun: number; ended: number }

class ResponseWriter implements FrameWriter {
  private number = 0
  private begun: Fields | null = null
  private readonly open = new Map<number, OpenItem>()
  private readonly events: EventStream
  private readonly streamed: Streamed

  constructor(events: EventStream, streamed: Streamed) {
    this.events = events
    this.streamed = streamed
  }

  take(text: string): void {
    const type = typeOfLine(text)!
    // Most events are pieces of words, which need not be parsed.
    if (type.endsWith('.delta')) this.sendText(text, type)
    else this.pass(JSON.parse(text) as Fields)
  }

  replay(answer: Fields): void {
    for (const event of eventsOfResponse(answer)) this.pass(event)
  }

  end(answer: Fields): void {
    this.closeItems(answer.output)
    this.send(endOfResponse(answer))
  }

  refuse({ error }: Fields): void {
    const { code, message } = asFields(error)
    this.fail(String(message), FAILURES[String(code)])
  }

  fail(message: string, code = 'server_error'): void {
    const { callId, request, model } = this.streamed
    const begun = this.begun ?? { ...begunResponse(callId, Math.floor(Date.now() / 1000), request), model }
    // Readers want the beginning of a response before its end.
    if (!this.begun) this.pass({ type: 'response.created', response: begun })
    this.send({ type: 'response.failed', response: { ...begun, status: 'failed', error: { code, message } } })
  }

  private pass(event: Fields): void {
    if (isEnd(event)) return
    if (event.type === 'response.created') this.begun = asFields(event.response)
    this.follow(event)
    this.send(event)
  }

  /** Keeps count of what is open. */
  private follow({ type, output_index: index }: Fields): void {
    if (typeof index !== 'number') return
    if (type === 'response.output_item.done') this.open.delete(index)
    else if (type === 'response.output_item.added') this.open.set(index, { index, begun: 0, ended: 0 })
    const item = this.open.get(index)
    if (!item) return
    if (String(type).endsWith('part.added')) item.begun += 1
    else if (String(type).endsWith('part.done')) item.ended += 1
  }

  /** Ends what an answer that was cut has left open, with the words that it has. */
  private closeItems(output: unknown): void {
    const items = listOf(output)
    for (const { index, begun, ended } of this.open.values()) {
      const item = items[index]
      if (!item) continue
      const isCall = item.type === 'function_call' || item.type === 'custom_tool_call'
      const pieces = piecesOf({ item, index }).slice(isCall ? 0 : ended, isCall ? 1 : begun)
      for (const event of [...pieces.flatMap(({ said, end }) => [said, ...end]), itemDone({ item, index })])
        this.send(event)
    }
    this.open.clear()
  }

  private send(event: Fields): void {
    this.sendText(JSON.stringify(event), String(event.type))
  }

  /** Numbers an event, which has no number yet, and sends it. */
  private sendText(text: string, type: string): void {
    this.events.send(`${text.slice(0, -1)},"sequence_number":${this.number++}}`, type)
  }
}
