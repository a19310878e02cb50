/**
 * The chunks of a chat stream on their way to the waiting client, as they come.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallUpdate } from '../../shared/replies/channels.ts'

/** The most characters in one publication, unless a single chunk is longer. */
const MAX_BATCH = 256 * 1024

/**
 * The pace of one stream, in characters per ms. No model writes as fast; Redis cuts a subscriber off when 32 MB wait
 * for it.
 */
const PACE = 4 * 1024

/** The smallest publication that is followed by a pause, in characters: 4 ms of that pace. */
const PACED_FROM = 16 * 1024

/**
 * Passes chunks on. One publication is on its way at a time and what comes meanwhile leaves with the next: an idle
 * stream pays no delay, a fast one fewer messages. A stream of many megabytes is slowed down, because all streams of
 * its web process would be lost with the subscription.
 */
export class ChunkRelay {
  private waiting: string[] = []
  private sent = 0
  private sending: Promise<void> | null = null
  private readonly publish: (update: CallUpdate) => Promise<void>

  constructor(publish: (update: CallUpdate) => Promise<void>) {
    this.publish = publish
  }

  /** Sends a chunk, JSON text. */
  push(chunk: string): void {
    this.waiting.push(chunk)
    this.sending ??= this.drain()
  }

  /** Resolves when everything has left, so that the call's end does not overtake its last chunk. */
  async flush(): Promise<void> {
    await this.sending
  }

  /** Drops what was not sent: its reader has gone, or will get an error. */
  drop(): void {
    this.waiting = []
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const { chunks, size } = this.nextBatch()
      const from = this.sent
      this.sent += chunks.length
      await this.publish({ type: 'chunks', from, chunks })
      if (size >= PACED_FROM) await sleep(size / PACE)
    }
    this.sending = null
  }

  private nextBatch(): { chunks: string[]; size: number } {
    let count = 0
    let size = 0
    while (count < this.waiting.length && size < MAX_BATCH) size += this.waiting[count++]!.length
    return { chunks: this.waiting.splice(0, count), size }
  }
}
