import { handleDisconnect } from '../../../src/api/v1/calls/answer-call.ts'
import type { AnswerDeps } from '../../../src/api/v1/calls/answer-call.ts'
import type { CallContext, PlacedCall } from '../../../src/api/v1/calls/placed-call.ts'
import type { Dialect } from '../../../src/shared/dialects/dialect.ts'
import { responsesKind } from '../../../src/api/v1/responses/responses.ts'
import { messagesKind } from '../../../src/api/v1/messages/messages.ts'
import { placeCall } from '../../../src/api/v1/calls/place-call.ts'
import type { CallOrder } from '../../../src/api/v1/calls/call-order.ts'
import type { Answer, LongAnswer } from '../../../src/shared/replies/stored-answers.ts'
import { newCallId } from '../../../src/shared/reports/call-records.ts'
import { chatCharge, estimateTokens, mediaCost, outputLimit } from '../../../src/shared/requests/pricing.ts'
import type { MediaShape } from '../../../src/shared/requests/media-rows.ts'
import type { CallUpdate } from '../../../src/shared/replies/channels.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { AccountId, CallId, KeyId } from '../../../src/shared/platform/ids.ts'
import type { Web, Simulation } from './simulation.ts'
import { IMAGE, VIDEO } from './simulation.ts'

export type Asked = {
  modality: 'chat' | 'image' | 'video'
  /** That of a chat. */
  dialect: Dialect
  prompt: string
  stream: boolean
  idempotencyKey: string | null
  account: { id: AccountId }
  keyId: KeyId
  /** Several pictures, or a video, of the dearer kind. */
  large: boolean
}

/** What a client knows of one of its requests. Unknown until it is answered: its web process may have been killed. */
export type Outcome =
  | { is: 'unknown' }
  | { is: 'answered'; answer: Answer | LongAnswer }
  | { is: 'refused'; code: ErrorCode }
  | { is: 'broken'; error: unknown }

/** One HTTP request of a client, without the HTTP. */
export class Request {
  readonly asked: Asked
  readonly web: Web
  outcome: Outcome = { is: 'unknown' }
  left = false
  /** The words of a stream that reached this client. */
  received = ''
  /** The id that the request got, or that of the call that it joined. */
  callId: CallId
  placed: PlacedCall | null = null
  private readonly ctx: CallContext

  constructor(simulation: Simulation, web: Web, asked: Asked) {
    this.asked = asked
    this.web = web
    this.callId = newCallId()
    this.ctx = contextOf(asked, this.callId)
    this.place(orderOf(simulation, asked)).catch((error: unknown) => {
      this.outcome = { is: 'broken', error }
    })
  }

  /** The client disconnects without an answer. */
  async leave(): Promise<void> {
    if (!this.placed || this.left || this.outcome.is !== 'unknown') return
    this.left = true
    if (this.asked.stream && !this.placed.joined) await this.web.replies.cancel(this.callId)
    await handleDisconnect(this.ctx, this.web.deps as unknown as AnswerDeps, this.placed)
  }

  /** Clears the timers of the wait. */
  forget(): void {
    this.placed?.wait.cancel()
  }

  private read(update: CallUpdate): void {
    if (update.type !== 'chunks') return
    this.received += update.chunks.map(wordsIn).join('')
  }

  private async place(order: CallOrder): Promise<void> {
    try {
      const deps = this.web.deps as unknown as Parameters<typeof placeCall>[1]
      this.placed = await placeCall(this.ctx, deps, order, (update) => this.read(update))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.outcome = { is: 'refused', code: error.code }
      return
    } finally {
      this.callId = this.ctx.state.callId!
    }
    const answer = await this.placed.wait.answer
    if (!this.left) this.outcome = { is: 'answered', answer }
  }
}

/** The words of a frame of any dialect. */
function wordsIn(frame: string): string {
  const { choices, delta } = JSON.parse(frame) as {
    choices?: { delta: { content?: string } }[]
    delta?: { text?: string } | string
  }
  return choices?.[0]?.delta.content ?? (typeof delta === 'string' ? delta : delta?.text) ?? ''
}

function contextOf(asked: Asked, callId: CallId): CallContext {
  const headers: Record<string, string> =
    asked.idempotencyKey === null ? {} : { 'idempotency-key': asked.idempotencyKey }
  return {
    state: {
      principal: { accountId: asked.account.id, keyId: asked.keyId, secretVersion: 1, address: '' },
      callId,
      requestId: callId,
      acceptedAt: 0,
    },
    get: (name: string) => headers[name] ?? '',
    set: () => {},
    req: { headers },
  } as unknown as CallContext
}

/** How many pictures are asked for. */
export const picturesOf = ({ modality, large }: Pick<Asked, 'modality' | 'large'>): number =>
  modality === 'image' && large ? 3 : 1

/** What is asked for: a length and a resolution of a video, a resolution of a picture. */
export function shapeOf({ modality, large }: Pick<Asked, 'modality' | 'large'>): MediaShape {
  if (modality === 'image') return large ? { resolution: IMAGE.resolutions[1] } : {}
  return { duration: VIDEO.durations[large ? 1 : 0]!, resolution: VIDEO.resolutions[large ? 1 : 0]! }
}

/** The order that the endpoints make of a valid body. */
function orderOf(simulation: Simulation, asked: Asked): CallOrder {
  const { modality, dialect, prompt, stream } = asked
  const model = simulation.catalogue().models.get(modality)!
  if (model.modality === 'image' || model.modality === 'video') {
    const shape = shapeOf(asked)
    const body = { model: model.id, prompt }
    const n = picturesOf(asked)
    const request = { prompt, ...shape, ...(n > 1 && { n }) }
    return { model, request, estimate: null, charge: mediaCost(model.price, shape, n)!, body }
  }
  if (model.modality !== 'chat') throw new Error(`no schedule asks for ${model.modality}`)
  if (dialect === 'responses') {
    const body = { model: model.id, input: prompt, max_output_tokens: outputLimit(20, {}), stream }
    return { model, body, dialect, ...responsesKind.parse(body, model) }
  }
  const request = { messages: [{ role: 'user', content: prompt }], max_tokens: outputLimit(20, {}), stream }
  const body = { model: model.id, ...request }
  if (dialect === 'messages') return { model, body, dialect, ...messagesKind.parse(body, model) }
  const estimate = estimateTokens(body, {})
  return { model, request, estimate, charge: chatCharge(model.price, estimate), body }
}
