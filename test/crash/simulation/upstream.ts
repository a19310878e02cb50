import type { Dialect } from '../../../src/shared/dialects/dialect.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { ChatRequest, MediaRequest } from '../../../src/shared/requests/requests.ts'
import type { UpstreamRef } from '../../../src/shared/calls/types.ts'
import type { Tokens } from '../../../src/shared/requests/pricing.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import type {
  Adapter,
  ChatResult,
  DirectMediaAdapter,
  FailureKind,
  MediaSource,
  TaskMediaAdapter,
  TaskState,
  TakeEvent,
  UpstreamContext,
  UpstreamUsage,
} from '../../../src/workers/upstreams/adapter.ts'
import type { Process, Scheduler } from '../../support/faults.ts'

/** How an upstream treats a request. `answer` of a task is how it ends. */
export type Manner = {
  /** Failures of the first requests, in order; after them it succeeds. */
  failures: FailureKind[]
  usage: Tokens | null
  /** A chat is longer than may be taken of it. */
  long: boolean
  /** How many polls a task takes. */
  polls: number
  /** A task that was accepted and then failed. */
  taskFails: boolean
}

/** What one prompt has cost the operator: requests that were accepted, and those that produced something. */
export type Bill = { accepted: number; produced: number }

/** A chat as one worker asked it: the words that it was given, and the usage that was reported behind them. */
export type Taken = { process: Process; prompt: string; words: string; usage: UpstreamUsage | null }

const ACCEPTED: ReadonlySet<FailureKind> = new Set(['unknown'])

/**
 * An upstream that records what it would bill. The prompt decides how it treats the request.
 */
export class Upstream {
  readonly bills = new Map<string, Bill>()
  readonly manners = new Map<string, Manner>()
  /** Every chat that was sent, in order, each with what its worker got of it. */
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
    return { chat: this.chat(process), image: this.direct(process), video: this.task(process) }
  }

  private chat(process: Process) {
    return {
      dialect: 'chat' as const,
      chat: async (request: ChatRequest, context: UpstreamContext): Promise<ChatResult> => {
        const prompt = promptOf(request)
        await this.ask(process, prompt, context)
        return { answer: answerOf(prompt, context.dialect), usage: this.usageOf(prompt) }
      },
      streamChat: (request: ChatRequest, context: UpstreamContext, take: TakeEvent) =>
        this.stream(process, promptOf(request), context, take),
    }
  }

  private async stream(process: Process, prompt: string, context: UpstreamContext, take: TakeEvent): Promise<void> {
    const taken: Taken = { process, prompt, words: '', usage: null }
    const onSent = (): void => {
      this.taken.push(taken)
      context.onSent?.()
    }
    await this.ask(process, prompt, { ...context, onSent })
    for (const [at, content] of wordsOf(this.manners.get(prompt)!).entries()) {
      await this.effect(process, `chunk ${at} of ${prompt}`, context.signal, () => {})
      taken.words += content
      for (const frame of framesOf(at, content, context.dialect)) take({ type: 'frame', frame })
    }
    const usage = this.usageOf(prompt)
    taken.usage = usage
    if (usage) take({ type: 'usage', usage })
  }

  private direct(process: Process): DirectMediaAdapter {
    return {
      kind: 'direct',
      generate: async ({ prompt }: MediaRequest, context): Promise<MediaSource> => {
        await this.ask(process, prompt, context)
        return { from: 'bytes', bytes: Buffer.from(prompt) }
      },
    }
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
      cancel: async () => {},
    }
  }

  private check(id: string): TaskState {
    const task = this.tasks.get(id)!
    const manner = this.manners.get(task.prompt)!
    if (++task.polls <= manner.polls) return { state: 'running', progress: null, pollAfterMs: 1000 }
    if (manner.taskFails) return { state: 'failed', error: new UpstreamError('rejected', 'as asked') }
    return { state: 'succeeded', media: { from: 'bytes', bytes: Buffer.from(task.prompt) } }
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
      if (failure !== undefined) throw new UpstreamError(failure, 'as asked')
      bill.produced++
      accepted()
    })
  }

  private usageOf(prompt: string): UpstreamUsage | null {
    return reportedBy(this.manners.get(prompt)!)
  }

  private async effect<T>(process: Process, what: string, signal: AbortSignal, work: () => T): Promise<T> {
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

const MESSAGE = { id: 'c', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }

/** The frames of the first or the second piece of a chat, in the dialect of its client. */
function framesOf(at: number, text: string, dialect: Dialect = 'chat'): Fields[] {
  if (dialect === 'chat') {
    const choice = { index: 0, delta: { content: text }, finish_reason: at === 1 ? 'stop' : null }
    return [{ id: 'c', created: 1, choices: [choice] }]
  }
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
  return at === 0
    ? [
        { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        delta,
      ]
    : [
        delta,
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null } },
      ]
}

/** A whole answer of this upstream, in the dialect of its client. */
function answerOf(prompt: string, dialect: Dialect = 'chat'): Fields {
  const content = `Re: ${prompt}`
  if (dialect === 'messages') return { ...MESSAGE, content: [{ type: 'text', text: content }], stop_reason: 'end_turn' }
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
  return { id: 'c', object: 'chat.completion', created: 1, choices: [choice] }
}

const promptOf = (request: ChatRequest): string => String(request.messages.at(-1)?.content)
