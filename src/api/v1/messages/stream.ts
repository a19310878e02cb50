/**
 * A message as a stream of the events of Anthropic's Messages API. The `message_delta` is held back until the call is
 * settled: it carries the usage that was charged.
 */
import { typeOfLine } from '../../../shared/chat/answer-form.ts'
import { eventsOfMessage } from '../../../shared/chat/messages/answer.ts'
import { anthropicTypeOf } from '../../../shared/chat/messages/errors.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'

/** The stream of a message's events. */
export const messageEvents: FrameStream = {
  signOfLife: 'event: ping\ndata: {"type": "ping"}\n\n',
  begin: (events) => new MessageWriter(events),
}

class MessageWriter implements FrameWriter {
  private last: Fields | null = null
  private readonly events: EventStream

  constructor(events: EventStream) {
    this.events = events
  }

  take(text: string): void {
    const type = typeOfLine(text)!
    if (type !== 'message_delta') return this.events.send(text, type)
    // An upstream may send several message_deltas; their fields are merged into the last.
    const event = JSON.parse(text) as Fields
    this.last = { ...this.last, ...event, delta: { ...asFields(this.last?.delta), ...asFields(event.delta) } }
  }

  replay(answer: Fields): void {
    for (const event of eventsOfMessage(answer)) this.take(JSON.stringify(event))
  }

  end({ usage }: Fields): void {
    this.send({ ...this.last, usage })
    this.send({ type: 'message_stop' })
  }

  refuse(body: Fields): void {
    this.send(body)
  }

  fail(message: string): void {
    this.send({ type: 'error', error: { type: anthropicTypeOf('service_unavailable'), message } })
  }

  private send(event: Fields): void {
    this.events.send(JSON.stringify(event), String(event.type))
  }
}
