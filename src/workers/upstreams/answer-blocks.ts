/** The numbered blocks of an answer, into which decoders turn the pieces that upstreams send. */
import type { AnswerEvent, BlockStart } from '../../shared/chat/events.ts'
import { CALL_SIGNATURE } from '../../shared/chat/canonical.ts'
import { asFields, isText } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import { ToolCalls } from './tool-calls.ts'

/** The block of words that is open, and the numbers of all blocks. */
export class OpenBlock {
  private count = 0
  private open: { number: number; kind: string; at: unknown } | null = null

  /** The number of the block that is open; else of the last one. */
  get number(): number {
    return this.open?.number ?? this.count - 1
  }

  /** A number for a further block. */
  take(): number {
    return this.count++
  }

  /** Begins a block, unless the open one is of this kind and place. @param at its place, as reported by its upstream */
  start(at: unknown, start: BlockStart): AnswerEvent[] {
    if (this.open?.kind === start.kind && this.open.at === at) return []
    const closed = this.close()
    this.open = { number: this.take(), kind: start.kind, at }
    return [...closed, { is: 'block', block: this.open.number, ...start }]
  }

  /** Adds words to a block, which begins with the first of them. */
  add(at: unknown, start: BlockStart, text: string): AnswerEvent[] {
    if (text === '') return []
    const begun = this.start(at, start)
    return [...begun, { is: 'delta', block: this.open!.number, text }]
  }

  /** Ends the open block, if there is one. @param isCut whether the end of the answer cut it off */
  close(isCut = false): AnswerEvent[] {
    const { open } = this
    this.open = null
    return open ? [{ is: 'stop', block: open.number, ...(isCut && { isCut }) }] : []
  }
}

/** The calls of tools of an answer, as blocks. */
export class CallEvents {
  private readonly calls = new ToolCalls()
  private readonly numbers = new Map<unknown, number>()
  private readonly ids = new Map<unknown, string>()
  private readonly open: OpenBlock

  constructor(open: OpenBlock) {
    this.open = open
  }

  /** Whether no tool is called. */
  get isEmpty(): boolean {
    return this.calls.isEmpty
  }

  /** Takes further pieces, as `ToolCalls` does. */
  take(pieces: readonly unknown[]): AnswerEvent[] {
    return this.calls.take(pieces).flatMap((piece) => this.eventsOf(piece))
  }

  /**
   * No more comes.
   * @param isCut whether the end of the answer may have cut off the last call
   * @param isClosed whether its upstream closes the arguments of a call that it has cut off: then nothing shows it
   */
  end(isCut: boolean, isClosed = false): AnswerEvent[] {
    const rest = this.calls.end(isCut).flatMap((piece) => this.eventsOf(piece))
    const last = this.open.number
    const stops = [...this.numbers].map(([index, block]): AnswerEvent => {
      const isCutOff = isCut && (!this.calls.isWhole(Number(index)) || (isClosed && block === last))
      return isCutOff ? { is: 'stop', block, isCut } : { is: 'stop', block }
    })
    return [...rest, ...stops]
  }

  private eventsOf(piece: Fields): AnswerEvent[] {
    const { index, id, type, function: called, custom, extra_content: extra } = piece
    const { name, arguments: args, input } = asFields(called ?? custom)
    const text = [args, input].find((one) => typeof one === 'string') ?? ''
    const known = this.numbers.get(index)
    if (typeof id === 'string' || typeof id === 'number') this.ids.set(index, String(id))
    const signed = this.signatureOf(asFields(asFields(extra).google).thought_signature, index)
    if (known !== undefined) return [...signed, ...(text === '' ? [] : [{ is: 'delta' as const, block: known, text }])]
    const closed = [...this.open.close(), ...signed]
    const block = this.open.take()
    this.numbers.set(index, block)
    const isCustom = type === 'custom' ? { isCustom: true as const } : {}
    return [
      ...closed,
      { is: 'block', block, kind: 'tool_call', id: String(id), name: String(name), ...isCustom },
      ...(text === '' ? [] : [{ is: 'delta' as const, block, text }]),
    ]
  }

  /** What Gemini wants back with a call, as a thought of its own in front of it. */
  private signatureOf(signature: unknown, index: unknown): AnswerEvent[] {
    if (!isText(signature)) return []
    const block = this.open.take()
    const id = this.ids.get(index) ?? ''
    return [
      { is: 'block', block, kind: 'reasoning', sealed: signature, format: CALL_SIGNATURE, id },
      { is: 'stop', block },
    ]
  }
}
