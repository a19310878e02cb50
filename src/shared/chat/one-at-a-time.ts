/**
 * The blocks of an answer one after the other, for dialects in which no two are open beside each other.
 */
import type { AnswerEvent } from './events.ts'

/** What belongs to a block. */
export type BlockEvent = Extract<AnswerEvent, { block: number }>

/** Puts the events of blocks in order: what belongs to a block behind the open one waits until that has ended. */
export class OneAtATime {
  private readonly waiting = new Map<number, BlockEvent[]>()
  private open: number | null = null

  /** Takes the next event, and answers what can be told now. */
  take(event: BlockEvent): BlockEvent[] {
    if (this.open !== null && event.block !== this.open) {
      const waited = this.waiting.get(event.block)
      if (waited) waited.push(event)
      else this.waiting.set(event.block, [event])
      return []
    }
    this.follow(event)
    return this.open === null ? [event, ...this.further()] : [event]
  }

  /** What waits at the end of the answer: every block ends there. */
  rest(): BlockEvent[] {
    const events: BlockEvent[] = []
    while (this.open !== null) for (const event of this.take({ is: 'stop', block: this.open })) events.push(event)
    return events
  }

  /** What has waited of the blocks behind one that has ended, up to the next that is still open. */
  private further(): BlockEvent[] {
    const events: BlockEvent[] = []
    // Blocks are numbered as they begin, so they wait in the order of their numbers.
    for (const [block, waited] of this.waiting) {
      if (this.open !== null) break
      this.waiting.delete(block)
      for (const event of waited) {
        this.follow(event)
        events.push(event)
      }
    }
    return events
  }

  private follow(event: BlockEvent): void {
    if (event.is === 'block') this.open = event.block
    if (event.is === 'stop') this.open = null
  }
}
