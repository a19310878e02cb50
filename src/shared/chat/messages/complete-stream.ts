/**
 * The stream of a message as the Messages API sends it, whatever its upstream leaves out: its start with a usage, the
 * start and the stop of every block, numbers without a gap, ids, and a reason to stop.
 */
import { randomUUID } from 'node:crypto'
import { asFields, isText, listOf, objectOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { Completer } from '../answer-form.ts'
import { eventsOfMessage } from './answer.ts'
import { BLANK, eventsOfBlock, isCall } from './blocks.ts'

/** The types of the blocks that deltas continue. Those of calls have names, which no delta has. */
const CONTINUED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  citations_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
}

/** A block that is open: its place in the message, its place as its upstream numbers it, and the input of a call. */
type OpenBlock = { index: number; at: unknown; type: unknown; id: unknown; input: string }

/**
 * Whether an object is a whole message, and no event of one: by its type, or as a whole answer with content.
 * @param isWhole whether it is the whole answer
 */
export const isMessage = ({ type, content }: Fields, isWhole: boolean): boolean =>
  type === 'message' || (isWhole && Array.isArray(content))

/**
 * Whether an event is one that the API may have had since, which passes: no sign of life, and without a usage, which
 * is that of the settlement.
 */
const isFurther = ({ type, usage, message }: Fields): boolean =>
  typeof type === 'string' && /^\w+$/.test(type) && type !== 'ping' && usage === undefined && message === undefined

/** The usage that a message begins with: what its upstream reports, else our own count of the input. */
export function begunUsage(usage: Fields, inputTokens: number) {
  const count = (name: string, otherwise = 0): number => {
    const value = usage[name]
    return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : otherwise
  }
  return {
    input_tokens: count('input_tokens', inputTokens),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
    output_tokens: count('output_tokens', 1),
  }
}

/** Completes the events of one message. */
export class MessageCompleter implements Completer {
  private readonly inputTokens: number
  private readonly open: OpenBlock[] = []
  private hasStarted = false
  private hasReason = false
  private callsTools = false
  private begun: Fields[] = []
  private blocks = 0

  /** @param inputTokens our own count of the input */
  constructor(inputTokens: number) {
    this.inputTokens = inputTokens
  }

  take(event: Fields, isWhole: boolean): Fields[] {
    if (!isMessage(event, isWhole)) return this.complete(event)
    const events = eventsOfMessage(event).flatMap((one) => this.complete(one))
    return isWhole ? [...events, ...this.end()] : events
  }

  /** A message of no block at all has not answered. */
  end(): Fields[] {
    const late = this.late()
    if (this.hasReason || this.blocks === 0) return this.closed()
    const delta = { stop_reason: this.callsTools ? 'tool_use' : 'end_turn', stop_sequence: null }
    return [...late, ...this.ended({ type: 'message_delta', delta })]
  }

  private complete(event: Fields): Fields[] {
    switch (event.type) {
      case 'message_start':
        return this.start(asFields(event.message))
      case 'content_block_start':
        return [...this.start({}), ...this.begin(event)]
      case 'content_block_delta':
        return [...this.start({}), ...this.continue(event)]
      case 'content_block_stop':
        return this.stop(event)
      case 'message_delta':
        return [...this.start({}), ...this.ended(event)]
      case 'message_stop':
        return this.end()
      default:
        return this.hasStarted && isFurther(event) ? [event] : []
    }
  }

  /** SDKs throw at a second start, and at one without a usage. */
  private start({ usage, ...message }: Fields): Fields[] {
    if (this.hasStarted) return []
    this.hasStarted = true
    this.begun = listOf(message.content)
    const id = isText(message.id) ? message.id : `msg_${randomUUID().replaceAll('-', '')}`
    const begun = { type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }
    const all = { ...message, id, ...begun, usage: begunUsage(asFields(usage), this.inputTokens) }
    return [{ type: 'message_start', message: all }]
  }

  /** Begins a block. Words end where another block begins; calls may go on until their input is whole. */
  private begin(event: Fields): Fields[] {
    const { index: at = this.blocks, content_block: content } = event
    const { type, id } = asFields(content)
    const isKnown = this.open.some((one) => one.at === at && one.type === type && (one.id ?? id) === (id ?? one.id))
    if (isKnown) return []
    const closed = this.closed(
      (one) => one.type !== 'tool_use' || one.at === at || (one === this.open.at(-1) && objectOf(one.input) !== null),
    )
    const index = this.blocks++
    this.open.push({ index, at, type, id, input: '' })
    this.callsTools ||= type === 'tool_use'
    const isNamed = !isCall(type) || isText(id)
    const block = isNamed
      ? asFields(content)
      : { ...asFields(content), id: `toolu_${randomUUID().replaceAll('-', '')}` }
    const [start, ...deltas] = eventsOfBlock(block, index)
    const isSame = start!.content_block === content && event.index === index
    return [...closed, isSame ? event : { ...event, ...start }, ...deltas]
  }

  private continue(event: Fields): Fields[] {
    const { index: at, delta } = event
    const { type, partial_json: json } = asFields(delta)
    const kind = CONTINUED[String(type)]
    const known = this.openAt(at)
    const fits = known && (kind === undefined ? type !== 'input_json_delta' || isCall(known.type) : known.type === kind)
    if (fits) {
      if (typeof json === 'string') known.input += json
      return [this.placed(event, known)]
    }
    if (kind === undefined) return []
    const begun = this.begin({ type: 'content_block_start', index: at, content_block: { type: kind, ...BLANK[kind] } })
    return [...begun, this.placed(event, this.open.at(-1)!)]
  }

  private stop(event: Fields): Fields[] {
    const known = this.openAt(event.index)
    if (!known) return []
    this.open.splice(this.open.indexOf(known), 1)
    return [this.placed(event, known)]
  }

  /** The usage that clients get is that of the settlement. */
  private ended(event: Fields): Fields[] {
    const delta = asFields(event.delta)
    const isEnd = isText(delta.stop_reason)
    this.hasReason ||= isEnd
    return [...(isEnd ? [...this.late(), ...this.closed()] : []), { ...event, delta, usage: { output_tokens: 0 } }]
  }

  /** The blocks that a message began with, where no others came. */
  private late(): Fields[] {
    const blocks = this.blocks === 0 ? this.begun : []
    return blocks.flatMap((block) => this.begin({ type: 'content_block_start', content_block: block }))
  }

  private openAt(at: unknown): OpenBlock | undefined {
    return at === undefined ? this.open.at(-1) : this.open.findLast((one) => one.at === at)
  }

  private placed(event: Fields, { index }: OpenBlock): Fields {
    return event.index === index ? event : { ...event, index }
  }

  /** Ends what is open. */
  private closed(which: (block: OpenBlock) => boolean = () => true): Fields[] {
    const ending = this.open.filter(which)
    for (const one of ending) this.open.splice(this.open.indexOf(one), 1)
    return ending.map(({ index }) => ({ type: 'content_block_stop', index }))
  }
}
