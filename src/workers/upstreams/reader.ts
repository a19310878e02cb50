/**
 * The one reader of what upstreams answer, whole or as a stream of events. The label of an answer is ignored: its
 * first byte other than white space distinguishes JSON from events (docs/upstreams/answers.md).
 */
import type { Readable } from 'node:stream'
import { createParser, ParseError } from 'eventsource-parser'
import type { EventSourceMessage, EventSourceParser } from 'eventsource-parser'
import { AnswerTooLong } from './adapter.ts'
import type { UpstreamError } from './adapter.ts'
import { readCut } from '../../shared/chat/cut-json.ts'
import { malformedAnswer } from './failures.ts'
import { isFields, objectOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The longest event, in characters. */
const MAX_EVENT = 8 * 1024 * 1024

/** How many bytes of events may come for each byte of an answer: every token comes in a JSON object of its own. */
const EVENT_BYTES = 4

/** How long an answer that is over is read on for what may come after its end, in ms. */
const REST_MS = 2000

/**
 * A body that is being read: of a chat, or of another answer, which may have `maxBytes` as JSON. `failure`: what it
 * means that its connection broke. `release` ends the reading: after its last piece of interest (`whole`) the
 * connection stays open for the next request, else it is closed, which shows the upstream to stop its work.
 */
export type AnswerBody = {
  source: Readable
  maxBytes: number
  isChat: boolean
  failure: (error: unknown) => UpstreamError
  /** Asks for room once `bytes` bytes have come; null if there is nothing to wait for. */
  admit?: (bytes: number) => Promise<void> | null
  release: (whole: boolean) => void
}

/**
 * A part of an upstream's answer:
 * - `object`: a JSON object. `isWhole`: it is the whole answer, and neither an event nor cut off. `event`: its name.
 *   `line`: its JSON as it came, where that is one line.
 * - `done`: the protocol's own end.
 * - `broken`: data that is neither JSON nor a sign of life. What was meant is lost.
 */
export type Said =
  | { is: 'object'; fields: Fields; isWhole: boolean; event?: string | undefined; line?: string | undefined }
  | { is: 'done' }
  | { is: 'broken' }

/** Takes a part of an answer; returns whether more is wanted. */
type Take = (said: Said) => boolean

/**
 * Reads the parts of a body, in order, each as it comes. A chunk of a stream costs no promise. If no more
 * is wanted, the connection is closed, unless `isOver` by then.
 * @param isOver whether everything that matters has come: from then on there are two seconds for the rest, and however
 * the connection ends is an end
 * @throws AnswerTooLong for a chat that is too large, after what was complete of a whole one; UpstreamError `unknown`
 * for another answer; what `failure` returns for a broken connection; what `take` throws
 */
export async function readAnswer(body: AnswerBody, take: Take, isOver = (): boolean => false): Promise<void> {
  let hasEnded = false
  try {
    const text = new AnswerText(body, take)
    hasEnded = await eachPiece(body, (piece) => text.add(piece), isOver)
    if (hasEnded) text.end()
  } finally {
    body.release(hasEnded || isOver())
  }
}

/**
 * Hands each piece of a body on as it comes; once it is over, only those of the next two seconds, and no failure.
 * @returns whether it came to its end, and not to the piece after which no more was wanted
 */
function eachPiece(
  { source, failure, admit }: AnswerBody,
  take: (piece: Uint8Array) => boolean,
  isOver: () => boolean,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let rest: NodeJS.Timeout | undefined
    let hasEnded = false
    let bytes = 0
    const end = (settle: () => void) => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(rest)
      source.off('data', onData).pause()
      settle()
    }
    const onData = (piece: Uint8Array) => {
      try {
        bytes += piece.length
        const room = admit?.(bytes)
        if (room) {
          source.pause()
          room.then(goOn, onBroken)
        }
        if (!take(piece)) end(() => resolve(false))
        else if (isOver()) rest ??= setTimeout(() => end(() => resolve(true)), REST_MS).unref()
      } catch (error) {
        end(() => reject(error as Error))
      }
    }
    const goOn = () => {
      if (!hasEnded) source.resume()
    }
    const onBroken = (error: unknown) => end(() => (isOver() ? resolve(true) : reject(failure(error))))
    source.on('end', () => end(() => resolve(true)))
    source.on('error', onBroken)
    source.on('close', () => onBroken(new Error('the connection was closed')))
    source.on('data', onData)
  })
}

/** The text of an answer, piece by piece. */
class AnswerText {
  // A piece may end inside a character: one decoder for the whole answer. A bad byte becomes U+FFFD.
  private readonly decoder = new TextDecoder()
  private readonly events: EventSourceMessage[] = []
  private parser: EventSourceParser | null = null
  private readonly body: AnswerBody
  private readonly take: Take
  private size = 0
  private text = ''
  private form: 'unknown' | 'json' | 'events' = 'unknown'

  constructor(body: AnswerBody, take: Take) {
    this.body = body
    this.take = take
  }

  /** @returns whether more is wanted */
  add(piece: Uint8Array): boolean {
    this.size += piece.length
    this.text += this.decoder.decode(piece, { stream: true })
    if (this.form === 'unknown') this.recognize()
    if (this.size > this.body.maxBytes) this.tooLong()
    return this.form !== 'events' || this.parsed()
  }

  /** The rest at the end: the last event counts also where its closing blank line is missing. */
  end(): void {
    this.text += this.decoder.decode()
    if (this.form === 'json') saidIn(this.take, this.text, true)
    else {
      this.text += '\n\n'
      this.parsed()
    }
  }

  private recognize(): void {
    this.text = this.text.trimStart()
    if (this.text !== '') this.form = /^[{[]/.test(this.text) ? 'json' : 'events'
  }

  private parsed(): boolean {
    try {
      this.parser ??= createParser({ onEvent: (event) => this.events.push(event), maxBufferSize: MAX_EVENT })
      this.parser.feed(this.text)
    } catch (error) {
      const isLong = error instanceof ParseError && error.type === 'max-buffer-size-exceeded'
      throw isLong ? new AnswerTooLong('an event is too large') : malformedAnswer('the answer is no text', error)
    }
    this.text = ''
    return this.events.splice(0).every(({ event, data }) => saidIn(this.take, data, false, event))
  }

  private tooLong(): void {
    const { maxBytes, isChat } = this.body
    const message = `the answer is larger than ${maxBytes} bytes`
    if (!isChat) throw malformedAnswer(message)
    if (this.form !== 'json') {
      if (this.size > EVENT_BYTES * maxBytes) throw new AnswerTooLong(message)
      return
    }
    // A character may be cut at the end, which is no fault of the upstream's.
    const bytes = Buffer.from(this.text).subarray(0, maxBytes)
    this.take({ is: 'object', fields: readCut(new TextDecoder().decode(bytes, { stream: true })), isWhole: false })
    throw new AnswerTooLong(message)
  }
}

const DONE = /^"?\[DONE\]"?$/i

/**
 * Takes the objects of a text: one, one a line, as of servers that omit the blank line between two events, or those of
 * a list, as Gemini streams to who asks for no events. What is empty, a single word or a ping is a sign of life.
 * @returns whether more is wanted
 */
function saidIn(take: Take, data: string, isWhole: boolean, event?: string): boolean {
  const text = data.trim()
  if (text === '' || event === 'ping') return true
  if (DONE.test(text)) return take({ is: 'done' })
  const list = isWhole ? objectsIn(text) : []
  if (list.length > 1) return list.every((one) => take({ is: 'object', fields: one, isWhole: false }))
  const fields = objectOf(text)
  // The end that the Messages API has.
  if (fields?.type === 'message_stop') return take({ is: 'done' })
  // An object may be the one element of a list.
  const line = text.startsWith('{') && !/[\n\r]/.test(text) ? text : undefined
  if (fields) return take({ is: 'object', fields, isWhole, event, line })
  if (event === 'error') return take({ is: 'object', fields: { message: text }, isWhole, event })
  if (text.includes('\n')) return text.split('\n').every((line) => saidIn(take, line, false, event))
  return !/\s|^[{[]/.test(text) || take({ is: 'broken' })
}

/** The objects of a list of nothing else; none where a text is no such list. */
function objectsIn(text: string): Fields[] {
  if (!text.startsWith('[')) return []
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every(isFields) ? list : []
  } catch {
    return []
  }
}
