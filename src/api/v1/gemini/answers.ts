/** The answers of Gemini's API to chats: whole, as server-sent events, or as the elements of a list. */
import { z } from 'zod'
import type { Wire } from '../calls/event-stream.ts'
import type { EventStream } from '../calls/event-stream.ts'
import type { FrameStream, FrameWriter } from '../calls/streamed-answer.ts'
import { settled } from '../chat/agent-chat.ts'
import { geminiErrors } from '../../../shared/chat/gemini/errors.ts'
import { candidateOf } from '../../../shared/chat/gemini/join-frames.ts'
import { isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'

const usage = z.looseObject({
  promptTokenCount: z.int().meta({ description: 'All input, the cached one too.' }),
  cachedContentTokenCount: z.int().optional(),
  candidatesTokenCount: z.int(),
  thoughtsTokenCount: z.int().optional().meta({ description: 'Output besides that of the candidates.' }),
  totalTokenCount: z.int(),
  ...settled,
})

/** An answer as Gemini's API has it. */
export const geminiResult = z
  .looseObject({
    candidates: z.array(
      z.looseObject({
        content: z.looseObject({ parts: z.array(z.looseObject({})).optional(), role: z.literal('model').optional() }),
        finishReason: z.string(),
        index: z.literal(0),
      }),
    ),
    modelVersion: z.string(),
    responseId: z.string(),
    usageMetadata: usage,
  })
  .meta({ id: 'GenerateContentResult', description: "Other fields of an upstream's answer are passed on." })

/** The elements of a list, of which the last has no comma behind it. */
const JSON_LIST: Wire = {
  type: 'application/json',
  signOfLife: '\n',
  event: (data, _name, isFirst) => `${isFirst ? '[' : ',\r\n'}${data}`,
  end: (isEmpty) => (isEmpty ? '[]' : ']'),
}

/** The stream of an answer's objects. @param isEvents whether they are server-sent events; else they are a list */
export const geminiObjects = (isEvents: boolean): FrameStream => ({
  ...(!isEvents && { wire: JSON_LIST }),
  begin: (events) => new ObjectWriter(events),
})

/** What an object contains in which the candidate ends. Within a text the quotes would be escaped. */
const END = '"finishReason":'

/** Writes objects. The last one is held back until the call is settled: it has the usage. */
class ObjectWriter implements FrameWriter {
  private held: string | null = null
  private readonly events: EventStream

  constructor(events: EventStream) {
    this.events = events
  }

  take(text: string): void {
    const isHeld = this.held !== null || text.includes(END)
    this.release()
    if (isHeld) this.held = text
    else this.events.send(text)
  }

  replay({ usageMetadata: _usage, ...answer }: Fields): void {
    this.take(JSON.stringify(answer))
  }

  end({ usageMetadata, modelVersion, responseId, ...answer }: Fields): void {
    const { finishReason } = candidateOf(answer)
    const last = this.held === null ? { candidates: [{ finishReason, index: 0 }], modelVersion, responseId } : null
    const held = last ?? (JSON.parse(this.held!) as Fields)
    this.events.send(JSON.stringify({ ...held, usageMetadata }))
  }

  refuse(body: Fields): void {
    this.release()
    this.events.send(JSON.stringify(body))
  }

  fail(message: string): void {
    this.refuse(geminiErrors.body({ code: 'service_unavailable', message, param: null }, '') as Fields)
  }

  private release(): void {
    if (isText(this.held)) this.events.send(this.held)
    this.held = null
  }
}
