/** From what a server of OpenAI's kind sends to the events of an answer, for clients of another dialect. */
import type { AnswerEvent } from '../../../shared/chat/events.ts'
import { isCutOff } from '../../../shared/chat/events.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamUsage } from '../adapter.ts'
import { CallEvents, OpenBlock } from '../answer-blocks.ts'
import type { Decoder, Ending } from '../translation.ts'
import { OpenaiChunks } from './chunks.ts'
import { endReasonOf } from './end-reasons.ts'

/** The events of an answer with one choice. */
export class ChunksDecoder implements Decoder {
  private readonly chunks = new OpenaiChunks(1, (reason) => reason)
  private readonly open = new OpenBlock()
  private readonly calls = new CallEvents(this.open)
  private readonly stops: readonly string[]
  /** The number of the one choice: the first that comes. */
  private index: unknown
  private hasStarted = false
  private hasToolCalls = false

  /** @param stops the texts that the answer was asked to end at */
  constructor(stops: readonly string[] = []) {
    this.stops = stops
  }

  get isFinished(): boolean {
    return this.chunks.isFinished
  }

  usageIn(event: Fields): UpstreamUsage | null {
    return this.chunks.usageIn(event)
  }

  events(event: Fields, isWhole: boolean): AnswerEvent[] {
    return this.chunks.frames(event, isWhole).flatMap((chunk) => this.eventsOf(chunk))
  }

  end(ending: Ending): AnswerEvent[] {
    return this.chunks.end(ending).flatMap((chunk) => this.eventsOf(chunk))
  }

  private eventsOf({ id, created, choices }: Fields): AnswerEvent[] {
    this.index ??= (choices as Fields[])[0]?.index
    const choice = (choices as Fields[]).find(({ index }) => index === this.index)
    if (!choice) return []
    const started: AnswerEvent[] = this.hasStarted ? [] : [{ is: 'start', id: String(id), created: Number(created) }]
    this.hasStarted = true
    return [...started, ...this.wordsOf(asFields(choice.delta)), ...this.endOf(choice)]
  }

  private wordsOf(delta: Fields): AnswerEvent[] {
    const { content, refusal, tool_calls: calls, function_call: called } = delta
    this.hasToolCalls ||= Array.isArray(calls)
    return [
      ...this.thoughtsOf(delta),
      ...this.open.add('content', { kind: 'text' }, textOf(content)),
      ...this.open.add('refusal', { kind: 'refusal' }, textOf(refusal)),
      ...(Array.isArray(calls) ? this.calls.take(calls) : []),
      // Some repeat a call for older clients.
      ...(called && !this.hasToolCalls ? this.calls.take([{ index: 0, function: called }]) : []),
    ]
  }

  /** Reasoning, which upstreams name once or several times: with its proof in details, else as a text. */
  private thoughtsOf({ reasoning_details: details, reasoning_content: content, reasoning }: Fields): AnswerEvent[] {
    const detailed = (Array.isArray(details) ? details : []).map(asFields).flatMap((detail) => this.detailOf(detail))
    if (detailed.length > 0) return detailed
    return this.open.add('reasoning', { kind: 'reasoning' }, textOf(content) || textOf(reasoning))
  }

  private detailOf({ type, text, summary, data, signature, format, id, index }: Fields): AnswerEvent[] {
    const named = { ...(isText(format) && { format }), ...(isText(id) && { id }) }
    const at = `detail ${String(index)}`
    if (type === 'reasoning.encrypted' && isText(data))
      return [...this.open.start(at, { kind: 'reasoning', sealed: data, ...named }), ...this.open.close()]
    const words = this.open.add(at, { kind: 'reasoning', ...named }, textOf(text) || textOf(summary))
    if (!isText(signature)) return words
    const begun = this.open.start(at, { kind: 'reasoning', ...named })
    return [...words, ...begun, { is: 'signature', block: this.open.number, signature }]
  }

  private endOf({ finish_reason: reason, ...choice }: Fields): AnswerEvent[] {
    if (!isText(reason)) return []
    const end = this.metStop(reason, choice) ?? { reason: endReasonOf(reason) }
    const isCut = isCutOff(end.reason)
    return [...this.calls.end(isCut), ...this.open.close(isCut), { is: 'end', ...end }]
  }

  /** The text that the answer ended at, which vLLM and SGLang name besides the reason. */
  private metStop(reason: string, { stop_reason: stop, matched_stop: matched }: Fields) {
    const met = this.stops.find((text) => text === stop || text === matched)
    return reason === 'stop' && met !== undefined ? { reason: 'stop_sequence' as const, stopSequence: met } : null
  }
}

/** The text of a piece of content: a text, or parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : []).map((part) => textOf(asFields(part).text)).join('')
}
