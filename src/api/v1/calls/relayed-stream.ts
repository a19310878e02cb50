/**
 * What a web process has sent on of its chat streams: where the worker of one is lost, its call is settled on that
 * (docs/architecture.md#lost-streams).
 */
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { AnswerForm, Assembly, Completion } from '../../../shared/dialects/answer-form.ts'
import type { Dialect } from '../../../shared/dialects/dialect.ts'
import { grammarOf } from '../../../shared/dialects/dialect.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { ownCount, settleChat } from '../../../shared/calls/chat-settlement.ts'
import type { ChatPrice } from '../../../shared/requests/pricing.ts'
import { settledCost } from '../../../shared/requests/pricing.ts'
import type { OpenRequest, StoredSettlement } from '../../../shared/calls/types.ts'
import { tokensOfWords } from '../../../shared/requests/token-count.ts'

/**
 * What a process keeps of the answers of all its streams together, in bytes of JSON; in memory a text that comes in
 * small pieces takes about ten times as much. Beyond it words are counted and not kept.
 */
const KEPT_BYTES = 4 * 1024 * 1024

/** The streams of one process, and the room that they share. */
export class RelayedStreams {
  private room: number

  /** @param room for what is kept of all answers, in bytes of JSON */
  constructor(room = KEPT_BYTES) {
    this.room = room
  }

  /** A stream of which nothing has been sent on. To be released when its call is no longer waited for. */
  begin(dialect?: Dialect): RelayedStream {
    return new RelayedStream(grammarOf(dialect).answers, {
      take: (bytes) => {
        if (bytes > this.room) return false
        this.room -= bytes
        return true
      },
      give: (bytes) => {
        this.room += bytes
      },
    })
  }
}

type Room = { take: (bytes: number) => boolean; give: (bytes: number) => void }

/** What is known of a call since it was charged. */
type Charged = Pick<OpenRequest, 'model' | 'price' | 'amount' | 'estimate'>
type Chunks = CallUpdate & { type: 'chunks' }

/** What a web process has sent on of one call, and what that call is settled on where its worker is lost. */
export type Relayed = Pick<
  RelayedStream,
  'take' | 'hasBegun' | 'isWhole' | 'leave' | 'settlement' | 'lastChunks' | 'release'
>

/** One stream: its chunks in their order, their words counted, and its answer as far as there is room for it. */
export class RelayedStream {
  private readonly room: Room
  private readonly form: AnswerForm
  private readonly kept: Assembly
  private readonly completion: Completion
  private keptBytes = 0
  private hasRoom = true
  private next = 0
  private words = 0
  private state: 'open' | 'broken' | 'left' | 'settled' = 'open'

  constructor(form: AnswerForm, room: Room) {
    this.form = form
    this.kept = form.assemble(Infinity)
    this.completion = form.completion()
    this.room = room
  }

  /** Takes the next chunks, which are then to be sent on. @returns false where some were lost before them */
  take({ from, chunks }: Chunks): boolean {
    if (from !== this.next && this.state === 'open') this.state = 'broken'
    if (this.state !== 'open') return false
    this.next += chunks.length
    for (const chunk of chunks) this.count(JSON.parse(chunk) as Fields)
    return true
  }

  /** Whether any chunk was sent on. */
  get hasBegun(): boolean {
    return this.next > 0
  }

  /** Whether everything was sent on, up to the end of each choice. */
  get isWhole(): boolean {
    return this.state !== 'broken' && this.completion.isWhole
  }

  /** The reader has gone: nothing more is sent on. @returns whether words were, so that there is something to settle */
  leave(): boolean {
    if (this.state !== 'settled') this.state = 'left'
    return this.words > 0
  }

  /**
   * What the call is settled on where its worker was lost; null where no words were sent on. Nothing is sent on after
   * this.
   */
  settlement({ model, price, amount, estimate }: Charged): StoredSettlement | null {
    const counted = tokensOfWords(this.words)
    const verdict = settleChat({
      end: this.state === 'left' && this.words > 0 ? 'client_left' : 'worker_lost',
      sent: true,
      isRelayed: true,
      counted,
      tokens: ownCount(counted, estimate ?? { input: 0, output: 0 }),
    })
    if (verdict.is !== 'paid') return null
    this.state = 'settled'
    const { tokens, finish } = verdict
    return {
      cost: settledCost(price as ChatPrice, tokens, amount),
      tokens,
      // The upstream may bill more than was sent on.
      costMicroUsd: null,
      upstream: null,
      resultUrl: null,
      output: this.form.output(this.kept.answer(finish), model, tokens),
    }
  }

  /** The frames that end what has not ended, for the reader of a stream that was settled. */
  lastChunks(): Chunks {
    const chunks = this.completion.lastFrames('length').map((frame) => JSON.stringify(frame))
    return { type: 'chunks', from: this.next, chunks }
  }

  /** Gives back the room that its answer has taken. */
  release(): void {
    this.room.give(this.keptBytes)
    this.keptBytes = 0
    this.hasRoom = false
  }

  private count(frame: Fields): void {
    this.words += this.form.wordsIn(frame)
    this.completion.take(frame)
    if (this.hasRoom) this.keep(frame)
  }

  private keep(frame: Fields): void {
    const bytes = this.form.sizeOf(frame)
    this.hasRoom = this.room.take(bytes)
    if (!this.hasRoom) return
    this.keptBytes += bytes
    this.kept.add(frame)
  }
}
