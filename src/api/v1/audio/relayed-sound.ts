/**
 * What a web process has sent on of the sound of one call. From its first byte on, it is always paid in full.
 */
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { OpenRequest, StoredSettlement } from '../../../shared/calls/types.ts'
import { SOUND_ENDS } from '../../../shared/requests/speech.ts'
import type { Relayed } from '../calls/relayed-stream.ts'

type Chunks = CallUpdate & { type: 'chunks' }

/** The sound of one call: its pieces in their order. */
export class RelayedSound implements Relayed {
  private next = 0
  private isBroken = false
  private isEnded = false

  /** Takes the next pieces, which are then to be sent on. @returns false if some were lost before them */
  take({ from, chunks }: Chunks): boolean {
    if (from !== this.next) this.isBroken = true
    if (this.isBroken || this.isEnded) return false
    this.next += chunks.length
    this.isEnded = chunks.at(-1) === SOUND_ENDS
    return true
  }

  /** Whether any sound was sent on. */
  get hasBegun(): boolean {
    return this.next > 0
  }

  /** Whether all of it was sent on. */
  get isWhole(): boolean {
    return this.isEnded && !this.isBroken
  }

  /** The reader has disconnected. @returns whether there is something to settle */
  leave(): boolean {
    return this.hasBegun
  }

  /** What the call is settled on where its worker was lost; null if no sound was sent on. */
  settlement({ amount }: Pick<OpenRequest, 'amount'>): StoredSettlement | null {
    if (!this.hasBegun) return null
    // The upstream may bill less, if it was cut off.
    return { cost: amount, tokens: null, costMicroUsd: null, upstream: null, resultUrl: null, output: '' }
  }

  /** Nothing ends what was broken off. */
  lastChunks(): Chunks {
    return { type: 'chunks', from: this.next, chunks: [], words: 0, isEnd: false }
  }

  /** Nothing is stored. */
  release(): void {}
}
