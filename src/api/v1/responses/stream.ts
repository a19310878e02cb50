/**
 * A response as a stream of the events of OpenAI's Responses API, numbered as they are sent. Its last event is held
 * back until the call is settled: it carries the whole answer, with the usage that was charged.
 */
import { typeOfLine } from '../../../shared/chat/answer-form.ts'
import { endOfResponse, eventsOfResponse } from '../../../shared/chat/responses/answer.ts'
import { isEnd } from '../../../shared/chat/responses/join-frames.ts'
import { itemDone, piecesOf } from '../../../shared/chat/responses/items.ts'
import { begunResponse } from '../../../shared/chat/responses/response.ts'
import { asFields, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'

/** The response that is streamed: the public id of its call, its request, and the id of its model. */
type Streamed = { callId: string; request: ChatRequest; model: string }

/** The stream of a response's events. */
export const responseEvents = (streamed: Streamed): FrameStream => ({
  begin: (events) => new ResponseWriter(events, streamed),
})

/** What the clients of OpenAI understand of why a response failed, by our codes; of others `server_error`. */
const FAILURES: Readonly<Record<string, string>> = {
  context_length_exceeded: 'context_length_exceeded',
  content_policy_violation: 'invalid_prompt',
  overloaded: 'server_is_overloaded',
}

/** The item that is open, and how many of its pieces are begun and ended. */
type OpenItem = { index: number; begun: number; ended: number }

class ResponseWriter implements FrameWriter {
  private number = 0
  private begun: Fields | null = null
  private readonly open = new Map<number, OpenItem>()
  private readonly events: EventStream
  private readonly streamed: Streamed

  constructor(events: EventStream, streamed: Streamed) {
    this.events = events
    this.streamed = streamed
  }

  take(text: string): void {
    const type = typeOfLine(text)!
    // Most events are pieces of words, which need not be parsed.
    if (type.endsWith('.delta')) this.sendText(text, type)
    else this.pass(JSON.parse(text) as Fields)
  }

  replay(answer: Fields): void {
    for (const event of eventsOfResponse(answer)) this.pass(event)
  }

  end(answer: Fields): void {
    this.closeItems(answer.output)
    this.send(endOfResponse(answer))
  }

  refuse({ error }: Fields): void {
    const { code, message } = asFields(error)
    this.fail(String(message), FAILURES[String(code)])
  }

  fail(message: string, code = 'server_error'): void {
    const { callId, request, model } = this.streamed
    const begun = this.begun ?? { ...begunResponse(callId, Math.floor(Date.now() / 1000), request), model }
    // Readers want the beginning of a response before its end.
    if (!this.begun) this.pass({ type: 'response.created', response: begun })
    this.send({ type: 'response.failed', response: { ...begun, status: 'failed', error: { code, message } } })
  }

  private pass(event: Fields): void {
    if (isEnd(event)) return
    if (event.type === 'response.created') this.begun = asFields(event.response)
    this.follow(event)
    this.send(event)
  }

  /** Keeps count of what is open. */
  private follow({ type, output_index: index }: Fields): void {
    if (typeof index !== 'number') return
    if (type === 'response.output_item.done') this.open.delete(index)
    else if (type === 'response.output_item.added') this.open.set(index, { index, begun: 0, ended: 0 })
    const item = this.open.get(index)
    if (!item) return
    if (String(type).endsWith('part.added')) item.begun += 1
    else if (String(type).endsWith('part.done')) item.ended += 1
  }

  /** Ends what an answer that was cut has left open, with the words that it has. */
  private closeItems(output: unknown): void {
    const items = listOf(output)
    for (const { index, begun, ended } of this.open.values()) {
      const item = items[index]
      if (!item) continue
      const isCall = item.type === 'function_call' || item.type === 'custom_tool_call'
      const pieces = piecesOf({ item, index }).slice(isCall ? 0 : ended, isCall ? 1 : begun)
      for (const event of [...pieces.flatMap(({ end }) => end), itemDone({ item, index })]) this.send(event)
    }
    this.open.clear()
  }

  private send(event: Fields): void {
    this.sendText(JSON.stringify(event), String(event.type))
  }

  /** Numbers an event, which has no number yet, and sends it. */
  private sendText(text: string, type: string): void {
    this.events.send(`${text.slice(0, -1)},"sequence_number":${this.number++}}`, type)
  }
}
