/**
 * What a web process has sent on of its chat streams: where the worker of one is lost, its call is settled on that
 * (docs/architecture.md#lost-streams).
 */
import { settledOutput } from '../../../shared/replies/stored-answers.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import { ChatAssembly, choicesOf, sizeOfChunk } from '../../../shared/replies/chat-assembly.ts'
import { ownCount, settleChat } from '../../../shared/calls/chat-settlement.ts'
import type { ChatPrice } from '../../../shared/requests/pricing.ts'
import { settledCost } from '../../../shared/requests/pricing.ts'
import type { OpenRequest, Settlement } from '../../../shared/calls/types.ts'
import { tokensOfWords, wordBytes } from '../../../shared/requests/token-count.ts'

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

  /** A stream of which nothing has come yet. To be released when its call is not waited for any more. */
  begin(): RelayedStream {
    return new RelayedStream({
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
type Chunk = Record<string, unknown>

/** What is known of a call since it was charged. */
type Charged = Pick<OpenRequest, 'model' | 'price' | 'amount' | 'estimate'>
type Chunks = CallUpdate & { type: 'chunks' }

/** One stream: its chunks in their order, their words counted, and its answer as far as there is room for it. */
export class RelayedStream {
  private readonly room: Room
  private readonly kept = new ChatAssembly(Infinity)
  private keptBytes = 0
  private hasRoom = true
  private next = 0
  private words = 0
  private head: Chunk | null = null
  /** Whether each choice has ended, by its index. */
  private readonly ends = new Map<unknown, boolean>()
  private state: 'open' | 'broken' | 'left' | 'settled' = 'open'

  constructor(room: Room) {
    this.room = room
  }

  /** Takes the next chunks, which are then to be sent on. @returns false where some were lost before them */
  take({ from, chunks }: Chunks): boolean {
    if (from !== this.next && this.state === 'open') this.state = 'broken'
    if (this.state !== 'open') return false
    this.next += chunks.length
    for (const chunk of chunks) this.count(JSON.parse(chunk) as Chunk)
    return true
  }

  /** Whether any chunk was sent on. */
  get hasBegun(): boolean {
    return this.next > 0
  }

  /** Whether everything was sent on, up to the end of each choice. */
  get isWhole(): boolean {
    return this.state !== 'broken' && [...this.ends.values()].every(Boolean)
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
  settlement({ model, price, amount, estimate }: Charged): Settlement | null {
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
      output: settledOutput(this.kept.completion(finish), model, tokens),
    }
  }

  /** The chunk that ends the choices which have not ended, for the reader of a stream that was settled. */
  lastChunks(): Chunks {
    const open = [...this.ends].filter(([, ended]) => !ended)
    const choices = open.map(([index]) => ({ index, delta: {}, finish_reason: 'length' }))
    for (const [index] of open) this.ends.set(index, true)
    const chunks = open.length > 0 ? [JSON.stringify({ ...this.head, choices })] : []
    return { type: 'chunks', from: this.next, chunks }
  }

  /** Gives back the room that its answer has taken. */
  release(): void {
    this.room.give(this.keptBytes)
    this.keptBytes = 0
    this.hasRoom = false
  }

  private count(chunk: Chunk): void {
    this.head ??= { ...chunk, choices: [] }
    for (const { index, delta, finish_reason: end } of choicesOf(chunk)) {
      this.words += wordBytes(delta)
      this.ends.set(index, typeof end === 'string' || this.ends.get(index) === true)
    }
    if (this.hasRoom) this.keep(chunk)
  }

  private keep(chunk: Chunk): void {
    const bytes = sizeOfChunk(chunk)
    this.hasRoom = this.room.take(bytes)
    if (!this.hasRoom) return
    this.keptBytes += bytes
    this.kept.add(chunk)
  }
}
