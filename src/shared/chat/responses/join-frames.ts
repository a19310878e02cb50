/** The answer of a stream of the Responses API, put together from its events. Pure. */
import { asFields, isText } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { bytesAsJson, jsonBytes } from '../../platform/json-bytes.ts'
import type { CutOff } from '../assembly.ts'
import { Assembly, fitting } from '../assembly.ts'
import { owned } from '../deltas.ts'
import { addWords, wordsOf } from './items.ts'

/** The state of what the upstream did not end. */
const CUT: Readonly<Record<CutOff, Fields>> = {
  stop: { status: 'completed', incomplete_details: null },
  length: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  cancelled: { status: 'cancelled', incomplete_details: null },
}

/** Whether an event ends its response. */
export const isEnd = ({ type }: Fields): boolean => type === 'response.completed' || type === 'response.incomplete'

/** The event that ends what the upstream did not end. */
export const cutEnd = (cutOff: CutOff): Fields => {
  const response = CUT[cutOff]
  return { type: cutOff === 'stop' ? 'response.completed' : 'response.incomplete', response }
}

/** Puts events together into the response that a request without `stream` would have had. */
export class ResponseAssembly extends Assembly {
  private head: Fields = {}
  private tail: Fields = {}
  private readonly items = new Map<unknown, Fields>()
  protected readonly sizeOf = sizeOfEvent
  protected readonly wordsIn = wordsInEvent
  protected readonly cut = cutEvent

  get isEmpty(): boolean {
    return this.items.size === 0 && !isText(this.tail.status)
  }

  answer(cutOff: CutOff): Fields {
    const { usage: _usage, ...head } = { ...this.head, ...this.tail }
    const { status, incomplete_details: details } = isText(this.tail.status) ? this.tail : CUT[cutOff]
    const output = [...this.items]
      .toSorted(([one], [other]) => Number(one) - Number(other))
      .map(([, item]) => (item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item))
    return {
      ...head,
      status,
      completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
      incomplete_details: details ?? null,
      output,
    }
  }

  protected take(event: Fields): void {
    const { type, response, item, output_index: index } = event
    if (type === 'response.created') this.head = asFields(response)
    else if (isEnd(event)) this.tail = asFields(response)
    else if (type === 'response.output_item.added' || type === 'response.output_item.done')
      this.items.set(index, owned(asFields(item)))
    else if (this.items.has(index)) addWords(this.items.get(index)!, event)
  }
}

/** The name in an event, which counts as words, too. */
const nameIn = ({ type, item }: Fields): string => {
  const { name } = asFields(item)
  return type === 'response.output_item.added' && isText(name) ? name : ''
}

/** The UTF-8 bytes of the words in an event. */
export const wordsInEvent = (event: Fields): number =>
  Buffer.byteLength(wordsOf(event) ?? '') + Buffer.byteLength(nameIn(event))

/** What an event adds to its response, in bytes of JSON. */
function sizeOfEvent(event: Fields): number {
  const { type, item, logprobs } = event
  const { encrypted_content: sealed } = asFields(item)
  const beside = type === 'response.output_item.done' && isText(sealed) ? sealed.length : 0
  const probabilities = Array.isArray(logprobs) && logprobs.length > 0 ? bytesAsJson(logprobs) : 0
  return jsonBytes(wordsOf(event) ?? '') + jsonBytes(nameIn(event)) + beside + probabilities
}

/** The words of an event that fit into `room` bytes. */
function cutEvent(event: Fields, room: number): Fields {
  const words = wordsOf(event)
  return words === null ? event : { ...event, delta: fitting(words, room) }
}
