/**
 * A message as a stream of the events of Anthropic's Messages API. The `message_delta` is held back until the call is
 * settled: it carries the usage that was charged.
 */
import { eventsOfMessage } from '../../../shared/dialects/messages/answer.ts'
import { anthropicTypeOf } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { PlacedCall } from '../calls/placed-call.ts'
import type { FrameWriter } from '../calls/streamed-answer.ts'
import { LOST } from '../calls/streamed-answer.ts'

/** The writer of a message's events. */
export const eventsFor = (placed: PlacedCall): FrameWriter => new MessageWriter(placed)

class MessageWriter implements FrameWriter {
  readonly signOfLife = 'event: ping\ndata: {"type": "ping"}\n\n'
  private early: string[] | null = []
  private events: EventStream | null = null
  private last: Fields | null = null
  private readonly placed: PlacedCall

  constructor(placed: PlacedCall) {
    this.placed = placed
  }

  take({ chunks }: CallUpdate & { type: 'chunks' }): void {
    for (const event of chunks) {
      if (this.events) this.pass(event)
      else this.early?.push(event)
    }
  }

  writeTo(events: EventStream): void {
    this.events = events
    this.early?.forEach((event) => this.pass(event))
    this.early = null
  }

  finish(status: number, body: string): void {
    const { relayed } = this.placed
    const answer = JSON.parse(body) as Fields
    if (status !== 200) return this.send(answer)
    if (!relayed?.hasBegun) for (const event of eventsOfMessage(answer)) this.pass(JSON.stringify(event))
    else if (!relayed.isWhole) return this.fail(LOST)
    this.send({ ...this.last, usage: answer.usage })
    this.send({ type: 'message_stop' })
  }

  fail(sentence: string): void {
    const message = `${sentence} GET /v1/calls/${publicId('call', this.placed.callId)}`
    this.send({ type: 'error', error: { type: anthropicTypeOf('service_unavailable'), message } })
  }

  private pass(text: string): void {
    const event = JSON.parse(text) as Fields
    // Several are cumulative: the fields of all of them belong to the last.
    if (event.type === 'message_delta')
      this.last = { ...this.last, ...event, delta: { ...asFields(this.last?.delta), ...asFields(event.delta) } }
    else this.events?.send(text, String(event.type))
  }

  private send(event: Fields): void {
    this.events?.send(JSON.stringify(event), String(event.type))
  }
}
