/** From what the Responses API sends to the events of an answer. A whole response is a stream of its items. */
import { randomUUID } from 'node:crypto'
import type { AnswerEvent, BlockStart, EndReason } from '../../../shared/chat/events.ts'
import { eventsOfResponse } from '../../../shared/chat/responses/answer.ts'
import { piecesOf, wordsOf } from '../../../shared/chat/responses/items.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { CallEvents, OpenBlock } from '../answer-blocks.ts'
import { failureIn, malformedAnswer } from '../failures.ts'
import type { Decoder, Ending } from '../translation.ts'
import { largerUsage, openaiUsage } from '../usage.ts'

/** The blocks of words, by the events that carry them. */
const WORDS: Readonly<Record<string, BlockStart>> = {
  'response.output_text.delta': { kind: 'text' },
  'response.refusal.delta': { kind: 'refusal' },
  'response.reasoning_text.delta': { kind: 'reasoning' },
  'response.reasoning_summary_text.delta': { kind: 'reasoning' },
}

/** Whether an object is a response, and not an event that has one. */
export const isResponse = ({ object, output, type }: Fields): boolean =>
  type === undefined && (object === 'response' || Array.isArray(output))

/** The events of a response that came in one piece; of one that was cut off (not `isWhole`) without its end. */
export const eventsIn = (response: Fields, isWhole: boolean): Fields[] =>
  eventsOfResponse(response).slice(0, isWhole ? undefined : -1)

/** The events of one answer. */
export class ResponsesDecoder implements Decoder {
  private readonly open = new OpenBlock()
  private readonly calls = new CallEvents(this.open)
  /** The items whose words were already sent, by their place. */
  private readonly told = new Set<unknown>()
  private hasStarted = false
  private hasEnded = false
  private items = 0
  private reported: UpstreamUsage | null = null

  get isFinished(): boolean {
    return this.hasEnded
  }

  usageIn(event: Fields): UpstreamUsage | null {
    const usage = openaiUsage(event.usage ?? asFields(event.response).usage)
    if (usage) this.reported = largerUsage(this.reported, usage)
    return usage && this.reported
  }

  /** @throws UpstreamError for a response that failed, under any status */
  events(event: Fields, isWhole: boolean): AnswerEvent[] {
    if (isWhole || isResponse(event)) {
      requireAnswered(event)
      if (!Array.isArray(event.output)) throw malformedAnswer('the answer has no output')
      return eventsIn(event, isWhole).flatMap((one) => this.eventsOf(one))
    }
    return this.eventsOf(event)
  }

  end(_ending: Ending): AnswerEvent[] {
    if (!this.hasEnded) throw malformedAnswer(this.hasStarted ? 'the answer was cut off' : 'the answer is empty')
    return []
  }

  private eventsOf(event: Fields): AnswerEvent[] {
    const { type, output_index: index, item, response } = event
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return this.start(asFields(response))
      case 'response.failed':
      case 'response.cancelled':
        return requireAnswered({ status: 'failed', ...asFields(response) })
      case 'response.output_item.added':
        return [...this.start({}), ...this.begin(index, asFields(item))]
      case 'response.output_item.done':
        return [...this.start({}), ...this.begin(index, asFields(item)), ...this.rest(index, asFields(item))]
      case 'response.completed':
      case 'response.incomplete':
        return this.ended(asFields(response), type === 'response.incomplete')
      default:
        return this.words(event)
    }
  }

  private start({ id, created_at: created }: Fields): AnswerEvent[] {
    if (this.hasStarted) return []
    this.hasStarted = true
    const at = typeof created === 'number' ? Math.floor(created) : Math.floor(Date.now() / 1000)
    return [{ is: 'start', id: isText(id) ? id : `resp_${randomUUID()}`, created: at }]
  }

  /** A call is recognised by its name; other items by their words. */
  private begin(index: unknown, item: Fields): AnswerEvent[] {
    this.items += 1
    const { type, name, call_id: id } = item
    if (type === 'function_call') return this.calls.take([{ index, id, function: { name } }])
    return type === 'custom_tool_call' ? this.calls.take([{ index, id, custom: { name } }]) : []
  }

  /** The content of an item at its end, if none of it was sent before. */
  private rest(index: unknown, item: Fields): AnswerEvent[] {
    if (this.told.has(index)) return this.open.close()
    const pieces = piecesOf({ item, index: Number(index) })
    return [...pieces.flatMap(({ text, delta }) => (text === '' ? [] : this.words(delta(text)))), ...this.open.close()]
  }

  private words(event: Fields): AnswerEvent[] {
    const { type, output_index: index, content_index: part, summary_index: summary } = event
    const text = wordsOf(event)
    if (text === null) return []
    this.told.add(index)
    const started = this.start({})
    if (type === 'response.function_call_arguments.delta')
      return [...started, ...this.calls.take([{ index, function: { arguments: text } }])]
    if (type === 'response.custom_tool_call_input.delta')
      return [...started, ...this.calls.take([{ index, custom: { input: text } }])]
    const start = WORDS[String(type)]
    if (!start) return []
    const at = start.kind === 'reasoning' ? `${String(index)}` : `${String(index)} ${String(part ?? summary)}`
    return [...started, ...this.open.add(at, start, text)]
  }

  private ended(response: Fields, isIncomplete: boolean): AnswerEvent[] {
    if (this.hasEnded) return []
    const output = Array.isArray(response.output) ? response.output : []
    // Some report their items only at the end.
    const late = this.items > 0 ? [] : output.flatMap((item, index) => this.late(index, asFields(item)))
    if (this.items === 0 && this.reported === null) throw malformedAnswer('the answer is empty')
    this.hasEnded = true
    const reason = this.reasonOf(response, isIncomplete)
    return [...this.start(response), ...late, ...this.calls.end(), ...this.open.close(), { is: 'end', reason }]
  }

  private late(index: number, item: Fields): AnswerEvent[] {
    return [...this.start({}), ...this.begin(index, item), ...this.rest(index, item)]
  }

  private reasonOf({ incomplete_details: details }: Fields, isIncomplete: boolean): EndReason {
    const { reason } = asFields(details)
    if (isIncomplete) return reason === 'content_filter' ? 'refusal' : 'length'
    return this.calls.isEmpty ? 'done' : 'tools'
  }
}

/** @throws UpstreamError for a response that failed */
function requireAnswered({ status, error }: Fields): AnswerEvent[] {
  if (status !== 'failed' && status !== 'cancelled') return []
  throw failureIn({ error: asFields(error) }) ?? malformedAnswer('the response failed')
}
