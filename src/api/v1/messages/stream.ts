/**
 * A message as a stream of the events of Anthropic's Messages API. The `message_delta` is held back until the call is
 * settled: it carries the usage that was charged.
 */
import { typeOfLine } from '../../../shared/chat/answer-form.ts'
import { eventsOfMessage } from '../../../shared/chat/messages/answer.ts'
import { anthropicTypeOf } from '../../../shared/chat/messages/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { PlacedCall } from '../calls/placed-call.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'
import { LOST } from '../calls/streamed-answer.ts'

/** The stream of a message's events. */
export const eventsFor = (placed: PlacedCall): FrameStream => ({
  signOfLife: 'event: ping\ndata: {"type": "ping"}\n\n',
  begin: (events) => new MessageWriter(placed, events),
})

class MessageWriter implements FrameWriter {
  private last: Fields | null = null
  private readonly placed: PlacedCall
  private readonly events: EventStream

  constructor(placed: PlacedCall, events: EventStream) {
    this.placed = placed
    this.events = events
  }

  take(text: string): void {
    const type = typeOfLine(text)!
    if (type !== 'message_delta') return this.events.send(text, type)
    // An upstream may send several message_deltas; their fields are merged into the last.
    const event = JSON.parse(text) as Fields
    this.last = { ...this.last, ...event, delta: { ...asFields(this.last?.delta), ...asFields(event.delta) } }
  }

  finish(status: number, body: string): void {
    const { relayed } = this.placed
    const answer = JSON.parse(body) as Fields
    if (status !== 200) return this.send(answer)
    if (!relayed?.hasBegun) for (const event of eventsOfMessage(answer)) this.take(JSON.stringify(event))
    else if (!relayed.isWhole) return this.fail(LOST)
    this.send({ ...this.last, usage: answer.usage })
    this.send({ type: 'message_stop' })
  }

  fail(sentence: string): void {
    const message = `${sentence} GET /v1/calls/${publicId('call', this.placed.callId)}`
    this.send({ type: 'error', error: { type: anthropicTypeOf('service_unavailable'), message } })
  }

  private send(event: Fields): void {
    this.events.send(JSON.stringify(event), String(event.type))
  }
}
