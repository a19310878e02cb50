/**
 * The one reader of what upstreams answer, whole or as a stream of events. The label of an answer says nothing: its
 * first byte that is no white space tells a JSON value from events (docs/upstreams.md#reading).
 */
import { createParser, ParseError } from 'eventsource-parser'
import type { EventSourceMessage } from 'eventsource-parser'
import { AnswerTooLong } from './adapter.ts'
import { readCut } from '../../shared/dialects/cut-json.ts'
import { malformedAnswer } from './failures.ts'
import { objectOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The longest event, in characters. */
const MAX_EVENT = 8 * 1024 * 1024

/** How many bytes of events may come for each byte of an answer: every token comes in a JSON object of its own. */
const EVENT_BYTES = 4

/** How long an answer that is over is read on for what may stand behind its end, in ms. */
const REST_MS = 2000

/**
 * A body that is being read: of a chat, or of another answer, which may have `maxBytes` as JSON. `release` ends that:
 * after its last piece of interest (`whole`) the connection is kept for the next request, else it is closed, which
 * shows the upstream to stop its work.
 */
export type AnswerBody = {
  pieces: AsyncIterable<Uint8Array>
  maxBytes: number
  isChat: boolean
  release: (whole: boolean) => void
}

/**
 * What an upstream said:
 * - `object`: a JSON object. `isWhole`: it is the whole answer, and neither an event nor cut off. `event`: its name.
 * - `done`: the protocol's own end.
 * - `broken`: data that is neither JSON nor a sign of life. What was meant is lost.
 */
export type Said =
  | { is: 'object'; fields: Fields; isWhole: boolean; event?: string | undefined }
  | { is: 'done' }
  | { is: 'broken' }

/**
 * What a body says, in order. Ending the iteration early closes the connection, unless `isOver` by then.
 * @param isOver whether everything that matters has come: from then on two seconds are left for the rest, and however
 * the connection ends is an end
 * @throws AnswerTooLong for a chat that is too large, behind what was complete of a whole one; UpstreamError `unknown`
 * for another answer; else as the body does
 */
export async function* readAnswer(body: AnswerBody, isOver = (): boolean => false): AsyncGenerator<Said> {
  let hasEnded = false
  try {
    const text = new AnswerText(body)
    for await (const piece of piecesUntilOver(body.pieces, isOver)) yield* text.add(piece)
    hasEnded = true
    yield* text.end()
  } finally {
    body.release(hasEnded || isOver())
  }
}

/** The pieces of a body; once it is over, only those of the next two seconds, and no failure. */
async function* piecesUntilOver(body: AsyncIterable<Uint8Array>, isOver: () => boolean): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  let timer: NodeJS.Timeout | undefined
  let late: Promise<null> | undefined
  try {
    for (;;) {
      let next: Promise<IteratorResult<Uint8Array> | null> = pieces.next()
      if (isOver()) {
        late ??= new Promise((resolve) => {
          timer = setTimeout(resolve, REST_MS, null).unref()
        })
        next = Promise.race([next.catch(() => null), late])
      }
      const piece = await next
      if (piece === null || piece.done) return
      yield piece.value
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The text of an answer, piece by piece. */
class AnswerText {
  // A piece may end inside a character: one decoder for the whole answer. A bad byte becomes U+FFFD.
  private readonly decoder = new TextDecoder()
  private readonly events: EventSourceMessage[] = []
  private readonly parser = createParser({ onEvent: (event) => this.events.push(event), maxBufferSize: MAX_EVENT })
  private readonly body: AnswerBody
  private size = 0
  private text = ''
  private form: 'unknown' | 'json' | 'events' = 'unknown'

  constructor(body: AnswerBody) {
    this.body = body
  }

  *add(piece: Uint8Array): Generator<Said> {
    this.size += piece.length
    this.text += this.decoder.decode(piece, { stream: true })
    if (this.form === 'unknown') this.recognize()
    if (this.size > this.body.maxBytes) yield* this.tooLong()
    if (this.form === 'events') yield* this.parsed()
  }

  /** What is left at the end: the last event counts also where its closing blank line is missing. */
  *end(): Generator<Said> {
    this.text += this.decoder.decode()
    if (this.form === 'json') return yield* saidIn(this.text, true)
    this.text += '\n\n'
    yield* this.parsed()
  }

  private recognize(): void {
    this.text = this.text.trimStart()
    if (this.text !== '') this.form = /^[{[]/.test(this.text) ? 'json' : 'events'
  }

  private *parsed(): Generator<Said> {
    try {
      this.parser.feed(this.text)
    } catch (error) {
      const isLong = error instanceof ParseError && error.type === 'max-buffer-size-exceeded'
      throw isLong ? new AnswerTooLong('an event is too large') : malformedAnswer('the answer is no text', error)
    }
    this.text = ''
    for (const { event, data } of this.events.splice(0)) yield* saidIn(data, false, event)
  }

  private *tooLong(): Generator<Said> {
    const { maxBytes, isChat } = this.body
    const message = `the answer is larger than ${maxBytes} bytes`
    if (!isChat) throw malformedAnswer(message)
    if (this.form !== 'json') {
      if (this.size > EVENT_BYTES * maxBytes) throw new AnswerTooLong(message)
      return
    }
    // A character may be cut at the end, which is no fault of the upstream's.
    const bytes = Buffer.from(this.text).subarray(0, maxBytes)
    yield { is: 'object', fields: readCut(new TextDecoder().decode(bytes, { stream: true })), isWhole: false }
    throw new AnswerTooLong(message)
  }
}

const DONE = /^"?\[DONE\]"?$/i

/**
 * What a text says: one JSON object, or one a line, as of servers that leave the blank line between two events out.
 * What is empty, a single word or a ping is a sign of life.
 */
function* saidIn(data: string, isWhole: boolean, event?: string): Generator<Said> {
  const text = data.trim()
  if (text === '' || event === 'ping') return
  if (DONE.test(text)) return yield { is: 'done' }
  const fields = objectOf(text)
  if (fields) {
    // The end that the Messages API has.
    yield fields.type === 'message_stop' ? { is: 'done' } : { is: 'object', fields, isWhole, event }
  } else if (event === 'error') yield { is: 'object', fields: { message: text }, isWhole, event }
  else if (text.includes('\n')) for (const line of text.split('\n')) yield* saidIn(line, false, event)
  else if (/\s|^[{[]/.test(text)) yield { is: 'broken' }
}
