/** The answer of a stream of the Messages API, put together from its events. Pure. */
import { asFields, isFields, isText } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { addFields, owned } from '../deltas.ts'
import type { CutOff } from '../assembly.ts'
import { Assembly, fitting } from '../assembly.ts'
import { readCut } from '../cut-json.ts'

/** The stop_reason of what the upstream did not end. */
export const CUT: Readonly<Record<CutOff, string>> = { stop: 'end_turn', length: 'max_tokens', cancelled: 'max_tokens' }

/** A block, and the arguments of its call as far as they came in pieces. */
type Block = { fields: Fields; json: string }

/** Puts events together into the message that a request without `stream` would have had. */
export class MessageAssembly extends Assembly {
  private head: Fields = {}
  private readonly tail: Fields = {}
  private readonly blocks = new Map<unknown, Block>()
  protected readonly sizeOf = sizeOfEvent
  protected readonly wordsIn = wordsInEvent
  protected readonly cut = cutEvent

  get isEmpty(): boolean {
    return this.blocks.size === 0 && !isText(this.tail.stop_reason)
  }

  answer(cutOff: CutOff): Fields {
    const { id, type: _type, role: _role, model, content: _content, usage: _usage, ...head } = this.head
    const { stop_reason: reason, stop_sequence: sequence, ...tail } = this.tail
    return {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [...this.blocks.values()].map(wholeBlock),
      ...head,
      ...tail,
      stop_reason: isText(reason) ? reason : CUT[cutOff],
      stop_sequence: sequence ?? null,
    }
  }

  protected take(event: Fields): void {
    switch (event.type) {
      case 'message_start':
        this.head = asFields(event.message)
        return
      case 'content_block_start':
        this.blocks.set(event.index, { fields: owned(asFields(event.content_block)), json: '' })
        return
      case 'content_block_delta':
        return this.continue(event.index, asFields(event.delta))
      case 'message_delta': {
        const { type: _type, delta, usage: _usage, ...more } = event
        Object.assign(this.tail, more, asFields(delta))
      }
    }
  }

  private continue(index: unknown, { type, partial_json: json, citation, ...delta }: Fields): void {
    const block = this.blocks.get(index)
    if (!block) return
    if (type === 'input_json_delta') block.json += isText(json) ? json : ''
    else if (citation !== undefined) addFields(block.fields, { citations: [citation] })
    else addFields(block.fields, delta)
  }
}

const wholeBlock = ({ fields, json }: Block): Fields => (json === '' ? fields : { ...fields, input: readCut(json) })

/** The texts of an event, which are words of the answer or prove them. */
function textsOf({ type, delta, content_block: block }: Fields): [name: string, text: string][] {
  const from = type === 'content_block_delta' ? asFields(delta) : type === 'content_block_start' ? asFields(block) : {}
  return Object.entries(from).filter((entry): entry is [string, string] => entry[0] !== 'type' && isText(entry[1]))
}

const WORDS: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json', 'name'])

/** The input of a call that comes whole. */
const wholeInput = ({ type, content_block: block }: Fields): string => {
  const input = type === 'content_block_start' ? asFields(block).input : undefined
  return isFields(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ''
}

/** The UTF-8 bytes of the words in an event. */
export const wordsInEvent = (event: Fields): number =>
  textsOf(event).reduce((sum, [name, text]) => sum + (WORDS.has(name) ? Buffer.byteLength(text) : 0), 0) +
  Buffer.byteLength(wholeInput(event))

/** What an event adds to its message, in bytes of JSON. */
const sizeOfEvent = (event: Fields): number =>
  textsOf(event).reduce((sum, [, text]) => sum + Buffer.byteLength(JSON.stringify(text)) - 2, 0) +
  Buffer.byteLength(wholeInput(event))

/** The texts of an event that fit into `room` bytes. */
function cutEvent(event: Fields, room: number): Fields {
  if (event.type !== 'content_block_delta') return event
  let left = room
  const texts = textsOf(event).map(([name, text]) => {
    const cut = fitting(text, left)
    left -= Buffer.byteLength(cut)
    return [name, cut]
  })
  return { ...event, delta: { ...asFields(event.delta), ...Object.fromEntries(texts) } }
}
