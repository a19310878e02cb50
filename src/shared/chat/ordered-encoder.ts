/** The blocks of an answer one after the other, for dialects in which no two are open at the same time. */
import type { Fields } from '../platform/fields.ts'
import type { AnswerEncoder, AnswerEvent } from './events.ts'

/** What belongs to a block. */
export type BlockEvent = Extract<AnswerEvent, { block: number }>

/** Encodes blocks in order: what belongs to a block behind the open one waits until that has ended. */
export abstract class OrderedEncoder implements AnswerEncoder {
  private readonly waiting = new Map<number, BlockEvent[]>()
  private openBlock: number | null = null

  framesOf(event: AnswerEvent): Fields[] {
    if (event.is === 'start') return this.start(event)
    return event.is === 'end' ? [...this.rest(), this.end(event)] : this.take(event)
  }

  private take(event: BlockEvent): Fields[] {
    if (this.openBlock !== null && event.block !== this.openBlock) {
      const waited = this.waiting.get(event.block)
      if (waited) waited.push(event)
      else this.waiting.set(event.block, [event])
      return []
    }
    const frames = this.follow(event)
    return this.openBlock === null ? [...frames, ...this.further()] : frames
  }

  /** What waits at the end of the answer: every block ends there. */
  private rest(): Fields[] {
    const frames: Fields[] = []
    while (this.openBlock !== null) frames.push(...this.take({ is: 'stop', block: this.openBlock }))
    return frames
  }

  /** What has waited of the blocks behind one that has ended, up to the next that is still open. */
  private further(): Fields[] {
    const frames: Fields[] = []
    // Blocks are numbered as they begin, so they wait in the order of their numbers.
    for (const [block, waited] of this.waiting) {
      if (this.openBlock !== null) break
      this.waiting.delete(block)
      for (const event of waited) frames.push(...this.follow(event))
    }
    return frames
  }

  private follow(event: BlockEvent): Fields[] {
    if (event.is === 'block') this.openBlock = event.block
    if (event.is === 'stop') this.openBlock = null
    return this.framesOfBlock(event)
  }

  protected abstract start(event: AnswerEvent & { is: 'start' }): Fields[]
  protected abstract framesOfBlock(event: BlockEvent): Fields[]
  protected abstract end(event: AnswerEvent & { is: 'end' }): Fields
}
