import { handleDisconnect } from '../../../src/api/v1/calls/answer-call.ts'
import type { AnswerDeps } from '../../../src/api/v1/calls/answer-call.ts'
import type { CallContext, PlacedCall } from '../../../src/api/v1/calls/placed-call.ts'
import { speechKind } from '../../../src/api/v1/audio/speech.ts'
import { chargeFor } from '../../../src/api/v1/audio/transcriptions.ts'
import { embeddingKind } from '../../../src/api/v1/embeddings.ts'
import { moderationKind } from '../../../src/api/v1/moderations.ts'
import { rerankKind } from '../../../src/api/v1/rerank.ts'
import { estimateChat } from '../../../src/shared/chat/completions/estimate.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { responsesKind } from '../../../src/api/v1/responses/responses.ts'
import { messagesKind } from '../../../src/api/v1/messages/messages.ts'
import { geminiKind } from '../../../src/api/v1/gemini/generate.ts'
import type { DeleteDeps } from '../../../src/api/v1/videos/deletion.ts'
import { removeVideo } from '../../../src/api/v1/videos/deletion.ts'
import { placeCall } from '../../../src/api/v1/calls/place-call.ts'
import type { ChatModel } from '../../../src/shared/catalogue/catalogue.ts'
import { inList } from '../../../src/api/v1/calls/asked-models.ts'
import type { CallOrder } from '../../../src/api/v1/calls/call-order.ts'
import type { Answer, LongAnswer } from '../../../src/shared/calls/stored-answers.ts'
import { newCallId } from '../../../src/shared/reports/call-records.ts'
import { chatCharge, mediaCost, outputLimit } from '../../../src/shared/terms/pricing.ts'
import type { MediaShape } from '../../../src/shared/terms/media-rows.ts'
import { SOUND_ENDS } from '../../../src/shared/requests/speech.ts'
import type { TranscriptionRequest } from '../../../src/shared/requests/transcriptions.ts'
import { offerTo } from '../../../src/shared/catalogue/catalogue.ts'
import type { CallUpdate } from '../../../src/shared/replies/channels.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { AccountId, CallId, KeyId, UserId } from '../../../src/shared/platform/ids.ts'
import type { Web, Simulation } from './simulation.ts'
import { IMAGE, VIDEO } from './prices.ts'
import { MAX_OUTSTANDING } from './simulation.ts'
import { secondsOf, soundOf, spokenOf } from './sound.ts'
import { picturesFor, uploadOf } from './uploads.ts'

export type Asked = {
  modality: Modality
  /** That of a chat. */
  dialect: Dialect
  prompt: string
  stream: boolean
  idempotencyKey: string | null
  account: { id: AccountId; userId: UserId; group: string | null }
  keyId: KeyId
  /** Several pictures, or what else is of the dearer kind: a chat that names two models. */
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
  /** Somebody deletes its video. */
  isDeleted = false
  /** The words of a stream, or the sound, that reached this client. */
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
    this.place(orderOf(simulation, web, asked)).catch((error: unknown) => {
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

  /** Somebody deletes the video that this client waits for. */
  async delete(): Promise<void> {
    this.isDeleted = true
    // Nobody waits for its end here: a schedule decides when that comes.
    const deps = { ...this.web.deps, stopping: AbortSignal.abort() } as unknown as DeleteDeps
    const { id: accountId, userId } = this.asked.account
    await removeVideo(deps, { accountId, userId }, this.callId)
  }

  /** Clears the timers of the wait. */
  forget(): void {
    this.placed?.wait.cancel()
  }

  private read(update: CallUpdate): void {
    if (update.type !== 'chunks') return
    this.received += update.chunks.map(this.asked.modality === 'speech' ? soundIn : wordsIn).join('')
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

/** The sound of a chunk, which is text in a simulation. */
const soundIn = (chunk: string): string => (chunk === SOUND_ENDS ? '' : Buffer.from(chunk, 'base64').toString())

/** The words of a frame of any dialect. */
function wordsIn(frame: string): string {
  const { choices, delta, candidates } = JSON.parse(frame) as {
    choices?: { delta: { content?: string } }[]
    delta?: { text?: string } | string
    candidates?: { content: { parts: { text?: string }[] } }[]
  }
  if (candidates) return candidates[0]!.content.parts.map(({ text }) => text ?? '').join('')
  return choices?.[0]?.delta.content ?? (typeof delta === 'string' ? delta : delta?.text) ?? ''
}

function contextOf(asked: Asked, callId: CallId): CallContext {
  const headers: Record<string, string> =
    asked.idempotencyKey === null ? {} : { 'idempotency-key': asked.idempotencyKey }
  return {
    state: {
      principal: {
        accountId: asked.account.id,
        userId: asked.account.userId,
        keyId: asked.keyId,
        secretVersion: 1,
        address: '',
        group: asked.account.group,
        accountLimits: { rateLimit: null, maxOutstanding: MAX_OUTSTANDING },
        tokens: [],
      },
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
export function shapeOf(modality: 'image' | 'video', { large }: Pick<Asked, 'large'>): MediaShape {
  if (modality === 'image') return large ? { resolution: IMAGE.resolutions[1] } : {}
  return { duration: VIDEO.durations[large ? 1 : 0]!, resolution: VIDEO.resolutions[large ? 1 : 0]! }
}

/** How many searches a ranking is. */
export const searchesAsked = ({ large }: Pick<Asked, 'large'>): number => (large ? 2 : 1)

/** A text to be embedded that has more tokens than its prompt alone. */
const TEXT = 'word '.repeat(20)

/** The order that the endpoints make of a valid body. */
function orderOf(simulation: Simulation, web: Web, asked: Asked): CallOrder {
  const { modality, prompt } = asked
  const model = offerTo(simulation.catalogue(), asked.account).models.get(modality)!
  switch (model.modality) {
    case 'image':
    case 'video': {
      const shape = shapeOf(model.modality, asked)
      const n = picturesOf(asked)
      // Several are made of several.
      const files = n === 1 ? [] : picturesFor(prompt).map((text, at) => uploadOf(simulation, web.process, at, [text]))
      const images = files.map(({ place }) => ({ place, extension: 'png' as const }))
      const request = { prompt, ...shape, ...(n > 1 && { n, images }) }
      const body = { model: model.id, prompt, ...(n > 1 && { image: files }) }
      return { model, request, estimate: null, charge: mediaCost(model.price, shape, n)!, body, files }
    }
    case 'embedding': {
      const body = { model: model.id, input: `${prompt} ${TEXT}` }
      return { model, body, ...embeddingKind.parse(body, model) }
    }
    case 'moderation': {
      const body = { model: model.id, input: prompt }
      return { model, body, ...moderationKind.parse(body, model) }
    }
    case 'rerank': {
      const documents = Array.from({ length: 100 * searchesAsked(asked) }, () => 'a')
      const body = { model: model.id, query: prompt, documents }
      return { model, body, ...rerankKind.parse(body, model) }
    }
    case 'chat': {
      if (!asked.large) return chatOrderOf(model, asked)
      const next = offerTo(simulation.catalogue(), asked.account).models.get('dear') as ChatModel
      return inList([chatOrderOf(model, asked), chatOrderOf(next, asked)])
    }
    case 'speech': {
      const body = { model: model.id, ...spokenOf(asked) }
      return { model, body, ...speechKind.parse(body, model) }
    }
    case 'transcription': {
      const file = uploadOf(simulation, web.process, 0, soundOf(prompt))
      const seconds = secondsOf(asked)
      const sent = { name: 'audio.wav', type: 'audio/wav' }
      const request: TranscriptionRequest = { task: 'transcribe', format: 'json', seconds, file: sent, prompt }
      const body = { model: model.id, prompt, file }
      return { model, body, request, estimate: null, charge: chargeFor(model, seconds), files: [file] }
    }
  }
}

function chatOrderOf(model: ChatModel, { dialect, prompt, stream }: Asked): CallOrder {
  if (dialect === 'responses') {
    const body = { model: model.id, input: prompt, max_output_tokens: outputLimit(20, {}), stream }
    return { model, body, dialect, ...responsesKind.parse(body, model) }
  }
  if (dialect === 'gemini') {
    const generationConfig = { maxOutputTokens: outputLimit(20, {}) }
    const body = { model: model.id, contents: [{ parts: [{ text: prompt }] }], generationConfig, stream }
    return { model, body, dialect, ...geminiKind.parse(body, model) }
  }
  const request = { messages: [{ role: 'user', content: prompt }], max_tokens: outputLimit(20, {}), stream }
  const body = { model: model.id, ...request }
  if (dialect === 'messages') return { model, body, dialect, ...messagesKind.parse(body, model) }
  const estimate = estimateChat(body, {})
  return { model, request, estimate, charge: chatCharge(model.price, estimate), body }
}
