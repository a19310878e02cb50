import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import type { AnswerEvent } from '../../../src/shared/chat/events.ts'
import { NO_SEAL } from '../../../src/shared/chat/seal.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { EmbeddingRequest } from '../../../src/shared/requests/embeddings.ts'
import type { ModerationRequest } from '../../../src/shared/requests/moderations.ts'
import type { RerankRequest } from '../../../src/shared/requests/rerank.ts'
import type { ChatRequest, MediaRequest } from '../../../src/shared/requests/requests.ts'
import type { Transcript } from '../../../src/shared/requests/transcriptions.ts'
import type { UpstreamRef } from '../../../src/shared/calls/types.ts'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type {
  Adapter,
  ChatResult,
  DirectMediaAdapter,
  FailureKind,
  KeyFault,
  Made,
  SpeechAdapter,
  TaskMediaAdapter,
  TaskState,
  TakeEvent,
  TranscriptionAdapter,
  UpstreamContext,
  UpstreamUsage,
} from '../../../src/workers/upstreams/adapter.ts'
import type { Process, Scheduler } from '../../support/faults.ts'
import { piecesOf } from './sound.ts'
import { picturesFor, readFiles } from './uploads.ts'

/** How an upstream treats a request. `answer` of a task is how it ends. */
export type Manner = {
  /** Failures of the first requests, in order; after them it succeeds. */
  failures: FailureKind[]
  usage: Tokens | null
  /** A chat is longer than may be taken of it. */
  long: boolean
  /** How many polls a task takes. */
  polls: number
  /** How many pictures fewer than asked for an image call gets; more where it is negative. One at least. */
  missing: number
  /** After how many pieces its sound breaks off; null: not. */
  breaksAfter: number | null
  /** A task that was accepted and then failed. */
  taskFails: boolean
}

/** What one prompt has cost the operator: requests that were accepted, and those that produced something. */
export type Bill = { accepted: number; produced: number }

/**
 * A chat, or speech, as one worker asked it: the words, or the sound, that it was given, and the usage that was
 * reported behind them.
 */
export type Taken = { process: Process; prompt: string; words: string; usage: UpstreamUsage | null }

/** What a failure shows of the key that was asked: a limit, which has ended when it is known, or that it is refused. */
const KEY_FAULTS: Partial<Record<FailureKind, { keyFault: KeyFault }>> = {
  rate_limited: { keyFault: 'limited' },
  not_served: { keyFault: 'refused' },
}

const ACCEPTED: ReadonlySet<FailureKind> = new Set(['unknown'])

/**
 * An upstream that records what it would bill. The prompt decides how it treats the request.
 */
export class Upstream {
  readonly bills = new Map<string, Bill>()
  readonly manners = new Map<string, Manner>()
  /** Every chat and all speech that was sent, in order, each with what its worker got of it. */
  readonly taken: Taken[] = []
  private readonly asked = new Map<string, number>()
  private readonly tasks = new Map<string, { prompt: string; polls: number }>()
  private readonly turns: Scheduler

  constructor(turns: Scheduler) {
    this.turns = turns
  }

  /** Sets how a prompt is treated. */
  expect(prompt: string, manner: Manner): void {
    this.manners.set(prompt, manner)
    this.bills.set(prompt, { accepted: 0, produced: 0 })
  }

  /** The adapters as one worker has them. Images are made within the request, videos as tasks. */
  adapterOf(process: Process): Adapter {
    return {
      chat: this.chat(process),
      image: this.direct(process),
      video: this.task(process),
      ...this.asking(process),
      speech: this.speech(process),
      transcription: this.transcription(process),
    }
  }

  private chat(process: Process) {
    return {
      dialect: 'chat' as const,
      chat: async (request: ChatRequest, context: UpstreamContext): Promise<ChatResult> => {
        const prompt = promptOf(request, context)
        await this.ask(process, prompt, context)
        const answer = dialectOf(context.dialect).answers.assemble(Infinity)
        const said = saying(request, context)
        for (const frame of [...said(0, `Re: ${prompt}`), ...said(1, '')]) answer.add(frame)
        return { answer: answer.answer('stop'), usage: this.usageOf(prompt) }
      },
      streamChat: (request: ChatRequest, context: UpstreamContext, take: TakeEvent) =>
        this.stream(process, request, context, take),
    }
  }

  private async stream(
    process: Process,
    request: ChatRequest,
    context: UpstreamContext,
    take: TakeEvent,
  ): Promise<void> {
    const prompt = promptOf(request, context)
    const said = saying(request, context)
    const taken: Taken = { process, prompt, words: '', usage: null }
    const onSent = (): void => {
      this.taken.push(taken)
      context.onSent?.()
    }
    await this.ask(process, prompt, { ...context, onSent })
    for (const [at, content] of wordsOf(this.manners.get(prompt)!).entries()) {
      await this.effect(process, `chunk ${at} of ${prompt}`, context.signal, () => {})
      taken.words += content
      for (const frame of said(at, content)) take({ type: 'frame', frame })
    }
    const usage = this.usageOf(prompt)
    taken.usage = usage
    if (usage) take({ type: 'usage', usage })
  }

  /** What is answered to one request: embeddings, moderations, rankings. */
  private asking(process: Process) {
    return {
      embedding: async ({ input }: EmbeddingRequest, context: UpstreamContext) => {
        const prompt = (input as string).split(' ')[0]!
        await this.ask(process, prompt, context)
        return { vectors: [Float32Array.of(1)], usage: this.usageOf(prompt) }
      },
      moderation: async ({ input }: ModerationRequest, context: UpstreamContext) => {
        await this.ask(process, input as string, context)
        return [{ flagged: false, categories: {}, category_scores: {} }]
      },
      rerank: async ({ query, documents }: RerankRequest, context: UpstreamContext) => {
        await this.ask(process, query, context)
        const results = documents.map((_document, index) => ({ index, relevance_score: -index }))
        return { results, tokens: null, searches: null }
      },
    }
  }

  private speech(process: Process): SpeechAdapter {
    return async ({ input }, context, take) => {
      const prompt = input.split(' ')[0]!
      const taken: Taken = { process, prompt, words: '', usage: null }
      await this.ask(process, prompt, { ...context, onSent: () => this.taken.push(taken) })
      const { breaksAfter } = this.manners.get(prompt)!
      for (const [at, piece] of piecesOf(prompt).entries()) {
        await this.effect(process, `sound ${at} of ${prompt}`, context.signal, () => {
          if (at === breaksAfter) throw new UpstreamError('unknown', 'as asked')
        })
        taken.words += piece
        await take(Buffer.from(piece))
      }
    }
  }

  private transcription(process: Process): TranscriptionAdapter {
    return async ({ prompt = '' }, context): Promise<Transcript> => {
      const { files = [], signal } = context
      const text = await this.effect(process, `read the file of ${prompt}`, signal, () => readFiles(files))
      await this.ask(process, prompt, context)
      // What it says that it has billed is its operator's alone.
      const billedSeconds = this.usageOf(prompt)?.input ?? null
      return { text, language: null, segments: null, words: null, billedSeconds }
    }
  }

  private direct(process: Process): DirectMediaAdapter {
    return {
      kind: 'direct',
      generate: async ({ prompt, n = 1, images }: MediaRequest, context): Promise<Made> => {
        if (images) await this.takePictures(process, prompt, context)
        await this.ask(process, prompt, context)
        const made = Math.max(1, n - this.manners.get(prompt)!.missing)
        return {
          files: Array.from({ length: made }, (_, at) => ({ from: 'bytes', bytes: Buffer.from(`${prompt} ${at}`) })),
        }
      },
    }
  }

  /** Reads the pictures that are to be edited. @throws where they are others */
  private async takePictures(process: Process, prompt: string, { files = [], signal }: UpstreamContext): Promise<void> {
    const read = await this.effect(process, `read the pictures of ${prompt}`, signal, () => readFiles(files))
    if (read !== picturesFor(prompt).join('')) throw new Error(`other pictures than those of ${prompt}: ${read}`)
  }

  private task(process: Process): TaskMediaAdapter {
    return {
      kind: 'task',
      submit: async ({ prompt }: MediaRequest, context): Promise<UpstreamRef> => {
        const id = `task-${this.tasks.size}-${prompt}`
        await this.ask(process, prompt, context, () => this.tasks.set(id, { prompt, polls: 0 }))
        return { id }
      },
      check: (ref, context) =>
        this.effect(process, `poll ${String(ref.id)}`, context.signal, () => this.check(String(ref.id))),
      cancel: (ref, context) => this.effect(process, `cancel ${String(ref.id)}`, context.signal, () => {}),
    }
  }

  private check(id: string): TaskState {
    const task = this.tasks.get(id)!
    const manner = this.manners.get(task.prompt)!
    if (++task.polls <= manner.polls) return { state: 'running', progress: null, pollAfterMs: 1000 }
    if (manner.taskFails) return { state: 'failed', error: new UpstreamError('rejected', 'as asked') }
    return { state: 'succeeded', made: { files: [{ from: 'bytes', bytes: Buffer.from(task.prompt) }] } }
  }

  /** One request. It takes effect even if nobody gets the answer. */
  private ask(
    process: Process,
    prompt: string,
    { signal, onSent }: UpstreamContext,
    accepted = () => {},
  ): Promise<void> {
    return this.effect(process, `ask ${prompt}`, signal, () => {
      onSent?.()
      const manner = this.manners.get(prompt)!
      const nth = this.asked.get(prompt) ?? 0
      this.asked.set(prompt, nth + 1)
      const failure = manner.failures[nth]
      const bill = this.bills.get(prompt)!
      if (failure === undefined || ACCEPTED.has(failure)) bill.accepted++
      if (failure !== undefined) throw new UpstreamError(failure, 'as asked', { ...KEY_FAULTS[failure], resetMs: 0 })
      bill.produced++
      accepted()
    })
  }

  private usageOf(prompt: string): UpstreamUsage | null {
    return reportedBy(this.manners.get(prompt)!)
  }

  private async effect<T>(process: Process, what: string, signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
    const aborted = new Promise<never>((_resolve, reject) => {
      const abort = () => {
        if (process.alive) reject(new UpstreamError('aborted', 'ended by ourselves'))
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
    })
    return await Promise.race([this.turns.effect(process, what, work), aborted])
  }
}

/** The usage that it reports: its counts are disjoint. */
export const reportedBy = ({ usage }: Manner): UpstreamUsage | null => usage && { ...usage, cachesApart: true }

/** What a chat says, streamed or not. */
export const wordsOf = ({ long }: Manner): string[] => ['one ', long ? 'two '.repeat(1000) : 'two']

/** What makes frames of the first and the second piece of a chat, in the dialect of its client. */
function saying(request: ChatRequest, { dialect, callId }: UpstreamContext): (at: number, text: string) => Fields[] {
  const encoder = dialectOf(dialect).encoder({ request, inputTokens: 1, callId, seal: NO_SEAL.seal })
  return (at, text) => {
    const delta: AnswerEvent = { is: 'delta', block: 0, text }
    const events: AnswerEvent[] =
      at === 0
        ? [{ is: 'start', id: 'c', created: 1 }, { is: 'block', block: 0, kind: 'text' }, delta]
        : [delta, { is: 'stop', block: 0 }, { is: 'end', reason: 'done' }]
    return events.flatMap((event) => encoder.framesOf(event))
  }
}

/** The last words of a request, which are its prompt, in whichever dialect it is. */
function promptOf(request: ChatRequest, { dialect }: Pick<UpstreamContext, 'dialect'>): string {
  const [block] = dialectOf(dialect).canonical(request, NO_SEAL.open).turns.at(-1)!.blocks
  return block?.kind === 'text' ? block.text : ''
}
