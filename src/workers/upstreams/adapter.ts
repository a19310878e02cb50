/**
 * What an upstream adapter is: it translates our requests to one wire protocol and its answers back, and decides what a
 * failure means. It knows neither database nor queue; it neither retries nor charges (the call processor does).
 */
import { isWord } from '../../shared/platform/process/log.ts'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { Dialect } from '../../shared/chat/dialect.ts'
import type { Seal } from '../../shared/chat/seal.ts'
import type { Written } from '../../shared/chat/written-request.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import type { EmbeddingRequest } from '../../shared/requests/embeddings.ts'
import type { CameAs } from '../../shared/terms/media-rows.ts'
import type { ModerationRequest } from '../../shared/requests/moderations.ts'
import type { RerankRequest } from '../../shared/requests/rerank.ts'
import type { SpeechRequest } from '../../shared/requests/speech.ts'
import type { Transcript, TranscriptionRequest } from '../../shared/requests/transcriptions.ts'
import type { ChatRequest, MediaRequest } from '../../shared/requests/requests.ts'
import type { UpstreamFile } from './multipart.ts'
import type { UpstreamRef } from '../../shared/calls/types.ts'

/** A picture that a customer referred to: the pieces of its file, and what that is called in a form. */
export type Reference = { pieces: Uint8Array[]; contentType: string; extension: string }

/** Counts the bytes of a call's answer in this process. */
export type ReceivingRoom = {
  /** Waits until an answer of `bytes` bytes may be held. @throws the signal's reason once that has aborted */
  take: (bytes: number, signal: AbortSignal) => Promise<void>
  /** The answer has only `bytes` bytes. */
  lowerTo: (bytes: number) => void
}

/** Everything an adapter needs besides the request. */
export type UpstreamContext = {
  /** Which upstream, its address and key, its name for the model, and the model's `rename`, `drop` and `set`. */
  route: Route
  /** Ends at the call's deadline, at a shutdown, or when the client of a stream disconnects. */
  signal: AbortSignal
  /** The call's public id, sent as `Idempotency-Key` and in the logs: harmless where it is ignored, never trusted. */
  callId: string
  /** The picture whose bytes an adapter that `uploads` sends; absent without one. */
  upload?: Reference | undefined
  /** Those of an edit that names several pictures or a mask, by their addresses; absent without them. */
  fetched?: ReadonlyMap<string, Reference> | undefined
  /** The files of the form that the call came as, in their order; absent where it was none. */
  files?: readonly UpstreamFile[] | undefined
  /** The dialect that a chat was asked in; chat completions where it is absent. */
  dialect?: Dialect | undefined
  /** The input that a stream names at its beginning where its upstream does not, in tokens. */
  estimatedInput?: number
  /** A chat as its client wrote it, for upstreams of its dialect; absent where that is not known. */
  written?: Written | undefined
  /** What stands for the session of a chat, for upstreams that find its cache by it; absent without one. */
  cacheKey?: string | undefined
  /** The betas of the Messages API that its client asked for (`anthropic-beta`). */
  betas?: readonly string[] | undefined
  /** Of a chat: seals what only this route may read again, and opens it. */
  seal?: Seal
  /** Where the bytes of a large answer are counted; absent where only a number is asked for. */
  room?: ReceivingRoom
  /** W3C trace context to pass on. */
  traceparent?: string
  /** To be called when the request begins to leave: until then the upstream knows nothing of it. */
  onSent?: () => void
  /** To be called for each event of the answer that cannot be read, and was skipped. */
  onSkipped?: () => void
}

/**
 * Token counts as an upstream reports them, under one name each (`usage.ts`); 0 or absent: not reported. Nothing of it
 * is believed yet. `cached` and `written`: input that was read from a cache or written to one, a part of `input` or,
 * with `cachesApart`, not in it. `repeated`: input that is billed once more. `reasoning`: the part of `output` that was
 * reasoning, or what the total has in addition. `costMicroUsd`: the reported cost of this answer.
 */
export type UpstreamUsage = {
  input: number
  output: number
  total?: number
  cached?: number
  written?: number
  cachesApart?: boolean
  repeated?: number
  reasoning?: number
  costMicroUsd?: number
}

/**
 * A chat's answer in the dialect of its client, without its `usage`; `usage` is null where the upstream reports none.
 * `isCut`: it was longer than MAX_ANSWER_BYTES, and this is what was taken of it.
 */
export type ChatResult = { answer: Fields; usage: UpstreamUsage | null; isCut?: boolean }

/**
 * What is in a chat stream, in order: frames of its client's dialect, of whose usage nothing is believed, and usages,
 * which are cumulative. `text`: the frame as its upstream wrote it, one line of JSON, where nothing of it was changed.
 */
export type ChatEvent =
  | { type: 'frame'; frame: Fields; text?: string | undefined }
  | { type: 'usage'; usage: UpstreamUsage }

/** Takes the events of a stream, each as it comes. What it throws ends the stream. */
export type TakeEvent = (event: ChatEvent) => void

/** Chat over one HTTP request. */
export type ChatAdapter = {
  /** The dialect that its upstreams speak: of such chats requests and answers pass as they come. */
  dialect: Dialect
  chat(request: ChatRequest, context: UpstreamContext): Promise<ChatResult>
  /**
   * Reads the same answer in chunks, or in one where the upstream does not stream, to its end.
   * @throws UpstreamError like `chat`; AnswerTooLong where more comes than any answer may have; what `take` throws
   */
  streamChat(request: ChatRequest, context: UpstreamContext, take: TakeEvent): Promise<void>
  /** The input tokens of a request in its own dialect, by the upstream's count; absent if it offers none. */
  count?(request: ChatRequest, context: UpstreamContext): Promise<number>
}

/** Where a media result's bytes are. `headers` (a key) go to `url`'s own origin only. */
export type MediaSource =
  | { from: 'url'; url: string; headers?: Record<string, string> }
  | { from: 'bytes'; bytes: Uint8Array }

/**
 * What an upstream has made: its pictures in their order, at least one, or one video. `costMicroUsd`: the reported cost
 * of all of them; size and quality of pictures as reported.
 */
export type Made = { files: readonly MediaSource[]; costMicroUsd?: number } & CameAs

/** Media over one HTTP request, which blocks until the result is there. */
export type DirectMediaAdapter = {
  kind: 'direct'
  /** It sends the bytes of a picture, not its address: `handoverOf`. */
  uploads?: boolean
  generate(request: MediaRequest, context: UpstreamContext): Promise<Made>
}

/** The state of a task. Unknown status words are `running`: the call's deadline ends it. */
export type TaskState =
  | { state: 'running'; progress: number | null; pollAfterMs: number }
  | { state: 'succeeded'; made: Made }
  | { state: 'failed'; error: UpstreamError }

/**
 * Media as a task: submit, then poll until it has ended. The reference is JSON that any worker can go on from: the
 * upstream's own id and addresses. It never holds a key.
 */
export type TaskMediaAdapter = {
  kind: 'task'
  /** It sends the bytes of a picture, not its address: `handoverOf`. */
  uploads?: boolean
  submit(request: MediaRequest, context: UpstreamContext): Promise<UpstreamRef>
  check(ref: UpstreamRef, context: UpstreamContext): Promise<TaskState>
  /** Stops a task whose call has ended; failures do not matter. */
  cancel(ref: UpstreamRef, context: UpstreamContext): Promise<void>
  /** Finds the task of a submission whose answer was lost; null if it has none. Absent without such a search. */
  find?(request: MediaRequest, context: UpstreamContext, sentAfter: Date): Promise<UpstreamRef | null>
}

/** Speaks the protocol of an upstream of pictures or videos. */
export type MediaAdapter = DirectMediaAdapter | TaskMediaAdapter

/** The vectors of a request's texts, in their order. `usage` is null where the upstream reports none. */
export type Embeddings = { vectors: Float32Array[]; usage: UpstreamUsage | null }

/** What is judged of a text, or of parts together, by OpenAI's names. */
export type Moderation = {
  flagged: boolean
  categories: Record<string, boolean | null>
  category_scores: Record<string, number | null>
  category_applied_input_types?: Record<string, string[]>
}

/**
 * Documents by their places in the request, the most relevant one first. What the upstream reports of tokens and billed
 * searches is not believed yet; null: nothing.
 */
export type Ranking = {
  results: { index: number; relevance_score: number }[]
  tokens: number | null
  searches: number | null
}

/** What is answered to one HTTP request, which is not sent again where it may have arrived. */
type Asking<Request, Answer> = (request: Request, context: UpstreamContext) => Promise<Answer>

/** Embeddings over one HTTP request. */
export type EmbeddingAdapter = Asking<EmbeddingRequest, Embeddings>
/** A moderation over one HTTP request. */
export type ModerationAdapter = Asking<ModerationRequest, Moderation[]>
/** A ranking over one HTTP request. */
export type RerankAdapter = Asking<RerankRequest, Ranking>

/**
 * Speech over one HTTP request, whose sound is taken as it comes. `take` is waited for, so that no more is read than
 * can be passed on.
 */
export type SpeechAdapter = (
  request: SpeechRequest,
  context: UpstreamContext,
  take: (sound: Uint8Array) => Promise<void>,
) => Promise<void>

/** Transcriptions over one HTTP request; the file is the first of `context.files`. */
export type TranscriptionAdapter = (request: TranscriptionRequest, context: UpstreamContext) => Promise<Transcript>

/** A protocol: how it serves each modality; absent where it does not. */
export type Adapter = {
  chat?: ChatAdapter
  image?: MediaAdapter
  video?: MediaAdapter
  embedding?: EmbeddingAdapter
  moderation?: ModerationAdapter
  rerank?: RerankAdapter
  speech?: SpeechAdapter
  transcription?: TranscriptionAdapter
}

/**
 * What a failed request to an upstream means for a next try (docs/upstreams/README.md#order-and-fallback):
 * - `not_sent`: it provably never arrived (refused, DNS, connect time-out): any try is safe.
 * - `rate_limited`: 429 of the rate kind: rejected, may be sent again after `retryAfterMs`.
 * - `overloaded`: 503 or 529: rejected, may be sent again.
 * - `unknown`: 500, 502, 504, reset or time-out after sending, an answer that makes no sense: it may have been
 *   billed. Chat may be sent once more, media never.
 * - `not_served`: 401 to 404, or a spent quota: nobody is served before the operator has fixed it. Nothing was
 *   accepted, and another upstream may serve.
 * - `rejected`: other 4xx: the same answer would come again.
 * - `late`: our own signal ended it, because the call's time was over.
 * - `aborted`: our own signal ended it for another reason.
 */
export type FailureKind =
  | 'not_sent'
  | 'rate_limited'
  | 'overloaded'
  | 'not_served'
  | 'unknown'
  | 'rejected'
  | 'late'
  | 'aborted'

/** Failures after which the request was certainly not accepted: any try is safe, also another worker's. */
export const NOT_ACCEPTED: ReadonlySet<FailureKind> = new Set(['not_sent', 'rate_limited', 'overloaded', 'not_served'])

/** What is wrong with a request that an upstream refuses, where the customer can fix it. */
export type CustomersFault = 'context_length_exceeded' | 'content_policy'

/**
 * What a refusal shows of the key that was asked with, or of its model there: a rate limit, a key that is refused, an
 * account without credit, a model that it does not serve (docs/upstreams/keys.md#health).
 */
export type KeyFault = 'limited' | 'refused' | 'empty' | 'no_model'

/** What may be known of a failure besides its kind. */
export type UpstreamErrorDetails = {
  status?: number
  retryAfterMs?: number | null
  keyFault?: KeyFault | null
  resetMs?: number | null
  code?: string | null
  type?: string | null
  said?: string | null
  fault?: CustomersFault | undefined
  cause?: unknown
}

const wordIn = (text: unknown): string | null => (isWord(text) ? text : null)

/**
 * The one class in which adapters fail. `message` is a sentence of our own, for operators' logs: the words of an
 * upstream may quote the prompt, and are only in `said`.
 */
export class UpstreamError extends Error {
  readonly kind: FailureKind
  /** The upstream's HTTP status, where it answered at all. */
  readonly status: number | null
  /** How long the upstream asked us to wait, in ms. */
  readonly retryAfterMs: number | null
  /** What it shows of the key; null if nothing. */
  readonly keyFault: KeyFault | null
  /** When the limit of the key ends, in ms from now; null where the upstream does not state that. */
  readonly resetMs: number | null
  /** The upstream's own word for it, such as `rate_limit_exceeded`. */
  readonly code: string | null
  /** Its word for the kind of failure, such as `invalid_request_error`. */
  readonly type: string | null
  /** What the customer can fix; null where it is not theirs to fix. */
  readonly fault: CustomersFault | null
  /** The upstream's words that the client gets (`quoted-words.ts`); null for none. */
  quoted: string | null = null
  /** What was reported before it failed: that was billed all the same. */
  usage: UpstreamUsage | null = null
  readonly #said: string | null

  constructor(kind: FailureKind, message: string, details: UpstreamErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'UpstreamError'
    this.kind = kind
    this.status = details.status ?? null
    this.retryAfterMs = details.retryAfterMs ?? null
    this.keyFault = details.keyFault ?? null
    this.resetMs = details.resetMs ?? null
    this.code = wordIn(details.code)
    this.type = wordIn(details.type)
    this.fault = details.fault ?? null
    this.#said = details.said ?? null
  }

  /**
   * The upstream's words: never for clients unchanged, and logged only with LOG_UPSTREAM_TEXT. Not a property, since
   * logs show those.
   */
  get said(): string | null {
    return this.#said
  }
}

/** No key of a model's upstreams takes the call: none was asked, or the last that could be has refused it. */
export class NoKey extends UpstreamError {
  /** In how many ms the first of them takes requests again; null if none does by itself. */
  readonly readyInMs: number | null

  /** @param last the last refusal; absent if no upstream was asked */
  constructor(readyInMs: number | null, last?: UpstreamError) {
    super(last?.kind ?? 'rate_limited', last?.message ?? 'no key of an upstream takes requests now', {
      ...(last?.status && { status: last.status }),
      code: last?.code,
      type: last?.type,
      said: last?.said,
      cause: last,
    })
    this.name = 'NoKey'
    this.readyInMs = readyInMs
    this.quoted = last?.quoted ?? null
  }
}

/** A chat's answer is longer than MAX_ANSWER_BYTES. */
export class AnswerTooLong extends UpstreamError {
  constructor(message: string) {
    super('unknown', message)
    this.name = 'AnswerTooLong'
  }
}
