/** A chat answer that is read from its upstream as a stream, however that ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerForm, Completion } from '../../shared/chat/answer-form.ts'
import type { Assembly } from '../../shared/chat/assembly.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import { settleChat } from '../../shared/calls/chat-settlement.ts'
import type { ChatEnd, ChatVerdict } from '../../shared/calls/chat-settlement.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import type { ChunkRelay } from './chunk-relay.ts'
import type { WorkerDeps } from '../deps.ts'
import { Cancelled, DeadlinePassed, Requeued } from './held-calls.ts'
import { asksForReasoning } from './reasoning.ts'
import type { Run } from './run-call.ts'
import type { ChatEvent, TakeEvent, UpstreamUsage } from '../upstreams/adapter.ts'
import { AnswerTooLong, UpstreamError } from '../upstreams/adapter.ts'
import { trustedUsage } from '../upstreams/trusted-usage.ts'
import type { TrustedUsage } from '../upstreams/trusted-usage.ts'
import { largerUsage } from '../upstreams/usage.ts'

/** An answer that is to be paid, what its upstream reported, and what is believed of that. */
export type PaidAnswer = { answer: Fields; usage: UpstreamUsage | null } & TrustedUsage

/**
 * How long the last chunks of a stream that was cut may take to leave, in ms: past its deadline others may end its
 * call.
 */
const FLUSH_MS = 1000

/**
 * How long a stream is read after its reader has disconnected if its model reasons, in ms: what it bills besides its
 * words is known only at its end.
 */
const READ_ON_MS = 30_000

/** One try to read a streamed answer, passed on to its client as it comes where the client asked for that. */
export class StreamedAnswer {
  private readonly run: Run
  private readonly begun: () => void
  private readonly form: AnswerForm
  private readonly assembly: Assembly
  private readonly completion: Completion
  private readonly relay: ChunkRelay | null
  private usage: UpstreamUsage | null = null
  private isReportStale = false
  private sent = false
  private reasons: boolean
  private hasDisconnected = false
  private hasBegun = false
  private readonly held: string[] = []
  private readingOn: NodeJS.Timeout | undefined

  /** @param begun is called before the first chunk is sent to the client */
  constructor({ config, relays, reasoners }: WorkerDeps, run: Run, route: Route, begun: () => void) {
    const { call, job } = run
    this.reasons = reasoners.has(route) || asksForReasoning(job.request as ChatRequest, job.dialect, route)
    this.run = run
    this.begun = begun
    this.form = dialectOf(job.dialect).answers
    this.assembly = this.form.assemble(config.MAX_ANSWER_BYTES)
    this.completion = this.form.completion()
    this.relay = (job.request as ChatRequest).stream ? relays.open(call.replyTo, call.id) : null
  }

  /**
   * Reads the stream that `open` begins to its end.
   * @throws what ended it, if nothing is to be paid
   */
  async read(open: (onSent: () => void, take: TakeEvent) => Promise<void>): Promise<PaidAnswer> {
    try {
      return await this.settled(open)
    } finally {
      this.relay?.close()
    }
  }

  private async settled(open: (onSent: () => void, take: TakeEvent) => Promise<void>): Promise<PaidAnswer> {
    const { held } = this.run
    const { onDisconnect } = held
    if (this.relay) held.onDisconnect = () => this.onDisconnect()
    const { end, failure } = await this.receive(open)
    held.onDisconnect = onDisconnect
    clearTimeout(this.readingOn)
    const counted = this.assembly.tokens
    const { tokens, refused } = trustedUsage(this.usage, {
      bounds: this.run.bounds,
      counted,
      isStale: this.isReportStale,
    })
    const verdict = settleChat({ end, sent: this.sent, isRelayed: this.relay !== null, counted, tokens })
    await this.finishRelay(end, verdict)
    if (verdict.is !== 'paid') throw this.billedAs(failure)
    return { answer: this.assembly.answer(verdict.finish), usage: this.usage, tokens, refused }
  }

  /** The reader has disconnected: ends the work, now or once what the model has reasoned is known. */
  private onDisconnect(): void {
    if (this.hasDisconnected) return
    this.hasDisconnected = true
    this.relay?.drop()
    if (!this.sent || !this.reasons || this.isReported) return this.cancel()
    this.readingOn = setTimeout(() => this.cancel(), READ_ON_MS)
  }

  private cancel(): void {
    this.run.held.ending.abort(new Cancelled())
  }

  /** Whether the last report covers what has been received. Some report their input before anything else. */
  private get isReported(): boolean {
    return this.usage !== null && this.usage.output > 0 && !this.isReportStale && this.assembly.tokens > 0
  }

  /** What a stream has reported was billed, and so were the words that came after it. */
  private billedAs(failure: unknown): unknown {
    if (failure instanceof UpstreamError && this.usage) {
      failure.usage = { ...this.usage, output: Math.max(this.usage.output, this.assembly.tokens) }
    }
    return failure
  }

  private async receive(
    open: (onSent: () => void, take: TakeEvent) => Promise<void>,
  ): Promise<{ end: ChatEnd; failure: unknown }> {
    const onSent = () => {
      this.sent = true
    }
    try {
      await open(onSent, (event) => this.takeEvent(event))
      if (this.assembly.isEmpty) throw new UpstreamError('unknown', 'the stream had no chunk')
      return { end: 'finished', failure: null }
    } catch (failure) {
      if (!this.hasDisconnected) return { end: endOf(failure, this.run.signal), failure }
      // Nobody waits for another try.
      this.cancel()
      return { end: 'client_left', failure }
    }
  }

  /** @throws AnswerTooLong; Cancelled if its reader has disconnected and all that was billed is known */
  private takeEvent(event: ChatEvent): void {
    if (event.type === 'usage') {
      this.usage = largerUsage(this.usage, event.usage)
      // A report of the input alone does not cover the words before it.
      if (event.usage.output > 0) this.isReportStale = false
      if (this.hasDisconnected && this.isReported) throw new Cancelled()
    } else this.take(event.frame, event.text)
    if (this.assembly.isFull) throw new AnswerTooLong('the answer is as long as it may become')
  }

  private take(frame: Fields, text: string | undefined): void {
    const { call } = this.run
    failpoint('upstream.streaming', call.id)
    const { words } = this.assembly
    const taken = this.assembly.add(frame)
    this.completion.take(taken)
    if (this.assembly.words > words) this.isReportStale = true
    this.reasons ||= this.form.reasons(taken)
    if (this.relay && !this.hasDisconnected) this.pass(this.relay, taken, taken === frame ? text : undefined)
  }

  /** Passes a frame on, once the answer has begun: until then another upstream may be asked. */
  private pass(relay: ChunkRelay, frame: Fields, text?: string): void {
    const written = this.form.written(frame, this.run.call.model, text)
    if (!this.hasBegun && !this.form.begins(frame)) {
      this.held.push(written)
      return
    }
    if (!this.hasBegun) this.begun()
    this.hasBegun = true
    for (const one of this.held.splice(0)) this.push(relay, one)
    this.push(relay, written)
  }

  private push(relay: ChunkRelay, text: string): void {
    relay.push({ text, words: this.assembly.words, isEnd: this.completion.isWhole })
  }

  /** Lets what the client is to see leave before the call ends. */
  private async finishRelay(end: ChatEnd, verdict: ChatVerdict): Promise<void> {
    const {
      relay,
      run: { signal },
    } = this
    if (!relay) return
    const isShown = verdict.is === 'paid' && !this.hasDisconnected && end !== 'client_left'
    if (signal.aborted && !isShown) relay.drop()
    const last = isShown ? this.completion.lastFrames(verdict.finish) : []
    for (const frame of last) this.push(relay, this.form.written(frame, this.run.call.model))
    if (!signal.aborted) return relay.flush()
    await Promise.race([relay.flush(), sleep(FLUSH_MS)])
  }
}

/**
 * Which end a stream came to when this was thrown. Our own reasons come before the connection errors that they cause.
 */
function endOf(failure: unknown, { reason }: AbortSignal): ChatEnd {
  if (failure instanceof AnswerTooLong) return 'too_long'
  if (reason instanceof DeadlinePassed) return 'deadline'
  if (reason instanceof Cancelled) return 'client_left'
  return reason instanceof Requeued ? 'shutdown' : 'upstream_failed'
}
