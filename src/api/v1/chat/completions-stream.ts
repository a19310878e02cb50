/**
 * A chat answer as a stream in OpenAI's form: chunks, the last one with the usage, then `[DONE]`
 * (docs/api/chats.md#streaming). Many clients read `choices[0]` of every chunk: one without choices is sent only to
 * those that ask for it by `stream_options.include_usage`.
 */
import { gatewayError } from '../../../shared/platform/errors.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'

type Completion = { id: string; created: number; model: string; choices: Choice[] }
type Choice = { index: number; message: { tool_calls?: object[]; [field: string]: unknown }; finish_reason: string }

const asksForUsage = ({ stream_options: options }: ChatRequest): boolean =>
  (options as { include_usage?: boolean } | undefined)?.include_usage === true

/** The stream of a chat's chunks. */
export const chunksFor = (request: ChatRequest): FrameStream => ({
  begin: (events) => new ChunkWriter(events, asksForUsage(request)),
})

/**
 * What a chunk contains in which a choice ends. It is JSON of our own making: within a text the quotes would be
 * escaped.
 */
const END_OF_CHOICE = '"finish_reason":"'

/**
 * Writes the chunks of a placed call. From the first end of a choice on the newest chunk is held back: the last one is
 * to carry the usage.
 */
class ChunkWriter implements FrameWriter {
  private held: string | null = null
  private readonly events: EventStream
  private readonly ownUsage: boolean

  /** @param ownUsage whether the usage is sent in a chunk of its own, which has no choices */
  constructor(events: EventStream, ownUsage: boolean) {
    this.events = events
    this.ownUsage = ownUsage
  }

  take(chunk: string): void {
    const isHeld = this.held !== null || chunk.includes(END_OF_CHOICE)
    this.release()
    if (isHeld) this.held = chunk
    else this.events.send(chunk)
  }

  /** The content and the end of each choice. */
  replay(answer: Fields): void {
    const body = answer as Completion
    for (const { index, message, finish_reason } of body.choices) {
      const delta = message.tool_calls
        ? { ...message, tool_calls: message.tool_calls.map((call, at) => ({ index: at, ...call })) }
        : message
      this.take(chunkOf(body, { choices: [{ index, delta, finish_reason: null }] }))
      this.take(chunkOf(body, { choices: [{ index, delta: {}, finish_reason }] }))
    }
  }

  end(answer: Fields): void {
    const { usage } = answer
    const last = this.held
    if (this.ownUsage || last === null) {
      this.release()
      this.events.send(chunkOf(answer as Completion, { choices: [], usage }))
    } else this.events.send(JSON.stringify({ ...(JSON.parse(last) as object), usage }))
    this.events.send('[DONE]')
  }

  refuse({ error }: Fields): void {
    this.release()
    this.events.send(JSON.stringify({ ok: false, error }))
  }

  fail(message: string): void {
    this.refuse({ error: gatewayError('service_unavailable', message) })
  }

  private release(): void {
    if (this.held !== null) this.events.send(this.held)
    this.held = null
  }
}

const chunkOf = ({ id, created, model }: Completion, fields: object): string =>
  JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields })
