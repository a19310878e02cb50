/**
 * The chunks of chat streams on their way to the web processes that send them on: what this process has for one of
 * those in a moment is sent in one publication.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { CallId } from '../../shared/platform/ids.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Chunks } from '../../shared/replies/channels.ts'
import type { Publisher } from '../../shared/replies/publisher.ts'

/** The most characters of one stream in a publication, and of all in it, unless a single chunk is longer. */
const MAX_BATCH = { stream: 256 * 1024, all: 1024 * 1024 }

/**
 * The pace of one stream, and of all to one web process, in characters per ms. No model writes as fast; Redis cuts a
 * subscriber off when 32 MB wait for it, and all streams of its process would be lost with the subscription.
 */
const PACE = { stream: 4 * 1024, all: 32 * 1024 }

/** The smallest part of a stream that is followed by a pause, in characters: 4 ms of its pace. */
const PACED_FROM = 16 * 1024

/**
 * How far publications to one web process are apart where several streams share them, in ms: a publication costs three
 * processes more than a chunk in it does, and the more streams there are, the more it saves. A stream that is alone
 * pays no pause.
 */
const apartMs = (streams: number): number => (streams > 1 ? Math.min(15, Math.max(5, streams / 20)) : 0)

/** The streams of this process, by the web processes that they go to. */
export class ChunkRelays {
  private readonly outlets = new Map<string, Outlet>()
  private readonly publisher: Pick<Publisher, 'chunks'>

  constructor(publisher: Pick<Publisher, 'chunks'>) {
    this.publisher = publisher
  }

  /** Begins to relay a stream. To be closed when its call has ended. */
  open(replyTo: string, callId: CallId): ChunkRelay {
    const outlet = this.outlets.get(replyTo) ?? new Outlet((parts) => this.publisher.chunks(replyTo, parts))
    this.outlets.set(replyTo, outlet)
    outlet.streams++
    return new ChunkRelay(callId, outlet, () => {
      if (--outlet.streams === 0) this.outlets.delete(replyTo)
    })
  }
}

/** What waits for one web process. One publication is on its way at a time; what comes meanwhile is sent together. */
class Outlet {
  /** How many streams go through it. */
  streams = 0
  private readonly waiting = new Set<ChunkRelay>()
  private readonly publish: (parts: Chunks[]) => Promise<void>
  private isDraining = false
  private freeAt = 0

  constructor(publish: (parts: Chunks[]) => Promise<void>) {
    this.publish = publish
  }

  /** Takes up a stream that has chunks to send. */
  offer(relay: ChunkRelay): void {
    this.waiting.add(relay)
    if (this.isDraining) return
    this.isDraining = true
    this.drain().catch(reportDefect)
  }

  withdraw(relay: ChunkRelay): void {
    this.waiting.delete(relay)
  }

  private async drain(): Promise<void> {
    // Everything that has come in this turn of the event loop.
    await turn()
    while (this.waiting.size > 0) {
      const pause = this.pauseMs()
      if (pause > 0) await sleep(pause)
      const sent = this.next()
      if (sent.length === 0) continue
      const size = sent.reduce((sum, part) => sum + part.size, 0)
      this.freeAt = performance.now() + Math.max(apartMs(this.streams), size / PACE.all)
      await this.publish(sent.map(({ chunks }) => chunks))
      for (const { relay } of sent) relay.partSent()
    }
    this.isDraining = false
  }

  /** How long nothing may leave yet: for all streams, or because each that waits has been too fast. */
  private pauseMs(): number {
    const now = performance.now()
    const first = Math.min(...[...this.waiting].map(({ freeAt }) => freeAt))
    return Math.ceil(Math.max(this.freeAt, first) - now)
  }

  /** The next part of each stream that may send, as far as they fit. One that has more waits after the others. */
  private next(): { relay: ChunkRelay; chunks: Chunks; size: number }[] {
    const parts = []
    const now = performance.now()
    let size = 0
    const waiting = [...this.waiting]
    for (const relay of waiting) {
      if (size >= MAX_BATCH.all) break
      if (relay.freeAt > now) continue
      const part = relay.next()
      this.waiting.delete(relay)
      if (relay.isWaiting) this.waiting.add(relay)
      size += part.size
      parts.push({ relay, ...part })
    }
    return parts
  }
}

/**
 * A chunk, and what its stream has come to with it: the UTF-8 bytes of its words, and whether each choice has ended.
 * Sound has no words.
 */
export type StreamedChunk = { text: string; words?: number; isEnd?: boolean }

/** The chunks of one stream, which leave as they come. */
export class ChunkRelay {
  /** Before this moment of `performance.now()` nothing of it is sent: it has been faster than its pace. */
  freeAt = 0
  private waiting: StreamedChunk[] = []
  private sent = 0
  private onItsWay = 0
  private readonly idle: (() => void)[] = []
  private readonly callId: CallId
  private readonly outlet: Outlet
  private readonly onClose: () => void

  constructor(callId: CallId, outlet: Outlet, onClose: () => void) {
    this.callId = callId
    this.outlet = outlet
    this.onClose = onClose
  }

  /** Sends a chunk, whose text is one line. */
  push(chunk: StreamedChunk): void {
    this.waiting.push(chunk)
    if (this.waiting.length === 1) this.outlet.offer(this)
  }

  /** Resolves when everything was sent, so that the call's end does not overtake its last chunk. */
  async flush(): Promise<void> {
    if (!this.isWaiting && this.onItsWay === 0) return
    await new Promise<void>((resolve) => {
      this.idle.push(resolve)
    })
  }

  /** Drops what was not sent: its reader has gone, or will get an error. */
  drop(): void {
    this.waiting = []
    this.outlet.withdraw(this)
    if (this.onItsWay === 0) this.resolveIdle()
  }

  /** Nothing more comes. */
  close(): void {
    this.drop()
    this.onClose()
  }

  /** Whether there is something to send. */
  get isWaiting(): boolean {
    return this.waiting.length > 0
  }

  /** The next part to send, and its size in characters. */
  next(): { chunks: Chunks; size: number } {
    let count = 0
    let size = 0
    while (count < this.waiting.length && size < MAX_BATCH.stream) size += this.waiting[count++]!.text.length
    const leaving = this.waiting.splice(0, count)
    const { words = 0, isEnd = false } = leaving.at(-1) ?? {}
    const chunks = { callId: this.callId, from: this.sent, chunks: leaving.map(({ text }) => text), words, isEnd }
    this.sent += count
    this.onItsWay++
    if (size >= PACED_FROM) this.freeAt = performance.now() + size / PACE.stream
    return { chunks, size }
  }

  /** A part of it was sent. */
  partSent(): void {
    this.onItsWay--
    if (!this.isWaiting && this.onItsWay === 0) this.resolveIdle()
  }

  private resolveIdle(): void {
    for (const resolve of this.idle.splice(0)) resolve()
  }
}
