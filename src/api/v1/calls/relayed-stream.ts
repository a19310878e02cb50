/**
 * What a web process has sent on of its chat streams: where the worker of one is lost, its call is settled on that
 * (docs/architecture.md#lost-streams).
 */
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { AnswerForm, Completion } from '../../../shared/chat/answer-form.ts'
import type { Assembly } from '../../../shared/chat/assembly.ts'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import { dialectOf } from '../../../shared/chat/dialect.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { ownCount, settleChat } from '../../../shared/calls/chat-settlement.ts'
import type { ChatPrice } from '../../../shared/terms/pricing.ts'
import { settledCost } from '../../../shared/terms/pricing.ts'
import type { OpenRequest, StoredSettlement } from '../../../shared/calls/types.ts'
import { tokensOfWords } from '../../../shared/requests/token-count.ts'

/**
 * What a process stores of the chunks of all its streams together, in bytes of memory. What does not fit is missing in
 * the answer of a stream whose worker is lost; it is paid all the same.
 */
const STORED_BYTES = 32 * 1024 * 1024

/** What the chunks of a stream take in memory at first, in bytes; then twice as much each time. */
const LEAST_BYTES = 1024

/** The streams of one process, and the room that they share. */
export class RelayedStreams {
  private room: number

  /** @param room for what is stored of all streams, in bytes of memory */
  constructor(room = STORED_BYTES) {
    this.room = room
  }

  /** A stream of which nothing has been sent on. To be released when its call is no longer waited for. */
  begin(dialect?: Dialect): RelayedStream {
    return new RelayedStream(dialectOf(dialect).answers, {
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

/**
 * One stream: how much of it was sent on, as its worker counts that, and its chunks as far as there is room for them.
 * They are read only where the worker is lost.
 */
class RelayedStream {
  private readonly room: Room
  private readonly form: AnswerForm
  /** Memory of its own: a text that is a slice of a message would hold on to all of it. */
  private stored = Buffer.alloc(0)
  private storedBytes = 0
  private hasRoom = true
  private next = 0
  private words = 0
  private isEnd = true
  private state: 'open' | 'broken' | 'disconnected' | 'settled' = 'open'
  private completion: Completion | null = null

  constructor(form: AnswerForm, room: Room) {
    this.form = form
    this.room = room
  }

  /** Takes the next chunks, which are then to be sent on. @returns false if some were lost before them */
  take({ from, chunks, words, isEnd }: Chunks): boolean {
    if (from !== this.next && this.state === 'open') this.state = 'broken'
    if (this.state !== 'open') return false
    this.next += chunks.length
    this.words = words
    this.isEnd = isEnd
    for (const chunk of chunks) this.store(chunk)
    return true
  }

  /** Whether any chunk was sent on. */
  get hasBegun(): boolean {
    return this.next > 0
  }

  /** Whether everything was sent on, up to the end of each choice. */
  get isWhole(): boolean {
    return this.state !== 'broken' && this.isEnd
  }

  /** The reader has disconnected: nothing more is sent on. @returns whether words were, which are to be settled */
  leave(): boolean {
    if (this.state !== 'settled') this.state = 'disconnected'
    return this.words > 0
  }

  /**
   * What the call is settled on where its worker was lost; null if no words were sent on. Nothing is sent on after
   * this.
   */
  settlement({ model, price, amount, estimate }: Charged): StoredSettlement | null {
    const counted = tokensOfWords(this.words)
    const verdict = settleChat({
      end: this.state === 'disconnected' && this.words > 0 ? 'client_left' : 'worker_lost',
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
      output: this.form.output(this.read().assembly.answer(finish), model, tokens),
    }
  }

  /** The frames that end what has not ended, for the reader of a stream that was settled. */
  lastChunks(): Chunks {
    const frames = this.isEnd ? [] : this.read().completion.lastFrames('length')
    this.isEnd = true
    const chunks = frames.map((frame) => JSON.stringify(frame))
    return { type: 'chunks', from: this.next, chunks, words: this.words, isEnd: true }
  }

  /** Gives back the room that its chunks have taken. */
  release(): void {
    this.room.give(this.stored.length)
    this.stored = Buffer.alloc(0)
    this.storedBytes = 0
    this.hasRoom = false
  }

  /** Stores a chunk. Where there is no room for it, what ends in it has to be read now. */
  private store(chunk: string): void {
    this.hasRoom &&= this.makeRoom(Buffer.byteLength(chunk) + 1)
    if (this.hasRoom) this.storedBytes += this.stored.write(`${chunk}\n`, this.storedBytes)
    else {
      this.completion ??= this.read().completion
      this.completion.take(JSON.parse(chunk) as Fields)
    }
  }

  private makeRoom(bytes: number): boolean {
    const needed = this.storedBytes + bytes
    if (needed <= this.stored.length) return true
    const size = Math.max(needed, 2 * this.stored.length, LEAST_BYTES)
    if (!this.room.take(size - this.stored.length)) return false
    const larger = Buffer.allocUnsafeSlow(size)
    this.stored.copy(larger, 0, 0, this.storedBytes)
    this.stored = larger
    return true
  }

  /** The answer as far as it was stored, and what of all that was sent on has ended. */
  private read(): { assembly: Assembly; completion: Completion } {
    const assembly = this.form.assemble(Infinity)
    const completion = this.completion ?? this.form.completion()
    for (const line of this.stored.toString('utf8', 0, this.storedBytes).split('\n').slice(0, -1)) {
      const frame = JSON.parse(line) as Fields
      assembly.add(frame)
      if (!this.completion) completion.take(frame)
    }
    return { assembly, completion }
  }
}
