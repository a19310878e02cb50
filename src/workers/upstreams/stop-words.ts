/**
 * Stop sequences that an upstream does not apply: the text ends in front of the first one, and so does the answer.
 * Nothing but text is looked at: no thoughts, and no arguments of tools.
 */
import type { AnswerEvent } from '../../shared/chat/events.ts'
import type { Carries } from '../../shared/chat/features.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import type { Decoder, Ending } from './translation.ts'

/** The stop sequences of a chat: those that its upstream is sent, and those that are applied here. */
export function dividedStops(
  stop: readonly string[],
  { mostStops, stops = /^/ }: Pick<Carries, 'mostStops' | 'stops'>,
): { sent: string[]; applied: string[] } {
  const sent = stop.filter((text) => stops.test(text)).slice(0, mostStops)
  return { sent, applied: stop.filter((text) => !sent.includes(text)) }
}

/** The decoder of an answer that ends at one of these texts. */
export const withStopWords = (decoder: Decoder, stops: readonly string[]): Decoder =>
  stops.length === 0 ? decoder : new StoppedAnswer(decoder, stops)

/** The events of an answer up to its first stop sequence. */
class StoppedAnswer implements Decoder {
  private readonly decoder: Decoder
  private readonly stops: readonly string[]
  private readonly open = new Set<number>()
  private textBlock: number | null = null
  private held = ''
  private hasMet = false

  constructor(decoder: Decoder, stops: readonly string[]) {
    this.decoder = decoder
    this.stops = stops
  }

  get isFinished(): boolean {
    return this.hasMet || this.decoder.isFinished
  }

  get isCut(): boolean {
    return this.hasMet
  }

  usageIn(event: Fields): ReturnType<Decoder['usageIn']> {
    return this.decoder.usageIn(event)
  }

  events(event: Fields, isWhole: boolean): AnswerEvent[] {
    return this.upToStop(() => this.decoder.events(event, isWhole))
  }

  end(ending: Ending): AnswerEvent[] {
    return this.upToStop(() => this.decoder.end(ending))
  }

  private upToStop(read: () => AnswerEvent[]): AnswerEvent[] {
    const passed: AnswerEvent[] = []
    if (this.hasMet) return passed
    for (const event of read()) {
      passed.push(...this.pass(event))
      if (this.hasMet) break
    }
    return passed
  }

  private pass(event: AnswerEvent): AnswerEvent[] {
    if (event.is === 'block') {
      this.open.add(event.block)
      if (event.kind === 'text') this.textBlock = event.block
    }
    if (!('block' in event) || event.block !== this.textBlock) return this.noted(event)
    if (event.is === 'delta') return this.words(event.block, event.text)
    return event.is === 'stop' ? [...this.release(event.block), ...this.noted(event)] : [event]
  }

  private noted(event: AnswerEvent): AnswerEvent[] {
    if (event.is === 'stop') this.open.delete(event.block)
    return [event]
  }

  /** The words that are sure to be in front of a stop sequence. */
  private words(block: number, text: string): AnswerEvent[] {
    const words = this.held + text
    const met = this.firstStop(words)
    if (met) {
      this.hasMet = true
      const ends = [...this.open].map((one): AnswerEvent => ({ is: 'stop', block: one }))
      const end: AnswerEvent = { is: 'end', reason: 'stop_sequence', stopSequence: met.stop }
      return [...deltaOf(block, words.slice(0, met.at)), ...ends, end]
    }
    const sure = words.length - this.mostBegun(words)
    this.held = words.slice(sure)
    return deltaOf(block, words.slice(0, sure))
  }

  private release(block: number): AnswerEvent[] {
    const { held } = this
    this.held = ''
    this.textBlock = null
    return deltaOf(block, held)
  }

  private firstStop(words: string): { at: number; stop: string } | undefined {
    return this.stops
      .map((stop) => ({ at: words.indexOf(stop), stop }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at)[0]
  }

  /** How many characters at the end may be the beginning of a stop sequence. */
  private mostBegun(words: string): number {
    return Math.max(
      ...this.stops.map((stop) => {
        for (let length = Math.min(stop.length - 1, words.length); length > 0; length--)
          if (words.endsWith(stop.slice(0, length))) return length
        return 0
      }),
    )
  }
}

const deltaOf = (block: number, text: string): AnswerEvent[] => (text === '' ? [] : [{ is: 'delta', block, text }])
