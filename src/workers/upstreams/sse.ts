/**
 * Server-sent events out of a body of bytes.
 */
import { createParser, ParseError } from 'eventsource-parser'
import type { EventSourceMessage } from 'eventsource-parser'
import { AnswerTooLong } from './adapter.ts'
import { malformedAnswer } from './failures.ts'
import type { AnswerBody } from './http.ts'

/** The longest event, in characters. */
const MAX_EVENT = 8 * 1024 * 1024

/**
 * The events of a stream, in order. Ending the iteration early closes the connection, unless `isLast` said of the
 * event before that nothing of interest comes behind it.
 * @throws UpstreamError `unknown` for what is no UTF-8; AnswerTooLong for what is too large; else as the body does
 */
export async function* readEvents(
  body: AnswerBody,
  isLast: (event: EventSourceMessage) => boolean,
): AsyncGenerator<EventSourceMessage> {
  // A chunk may end inside a character: one decoder for the whole stream.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => events.push(event), maxBufferSize: MAX_EVENT })
  let size = 0
  let whole = false
  try {
    for await (const piece of body.pieces) {
      size += piece.length
      if (size > body.maxBytes) throw new AnswerTooLong(`the stream is larger than ${body.maxBytes} bytes`)
      feed(() => parser.feed(decoder.decode(piece, { stream: true })))
      for (const event of events.splice(0)) {
        whole ||= isLast(event)
        yield event
      }
    }
    // The last event counts also where its closing blank line is missing.
    feed(() => parser.feed(`${decoder.decode()}\n\n`))
    whole = true
    yield* events
  } finally {
    body.release(whole)
  }
}

function feed(step: () => void): void {
  try {
    step()
  } catch (error) {
    if (error instanceof ParseError && error.type === 'max-buffer-size-exceeded')
      throw new AnswerTooLong('an event is too large')
    throw malformedAnswer('the stream is no text', error)
  }
}
