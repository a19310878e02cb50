import { compressorOf, headersOf, quirked } from '../chat/quirks.ts'
import type { Exchange } from '../exchange.ts'
import { UNSTEERED } from '../steering.ts'
import { beginAnswer } from './answer.ts'
import { cut, pause, writeSteered } from './outlet.ts'

/** One server-sent event, ready for the wire; `content` where it carries a piece of the answer's text. */
export interface StreamEvent {
  readonly text: string
  readonly content?: boolean
}

/** A server-sent event with JSON data, under a name where the protocol names its events. */
export function event(data: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
}

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

/** Streams events as steered. `failure` is the event that `[error-after]` sends. */
export async function stream(exchange: Exchange, events: Iterable<StreamEvent>, failure: string): Promise<void> {
  const { res, steering } = exchange
  if (steering === UNSTEERED) {
    let whole = ''
    for (const one of events) whole += one.text
    res.writeHead(200, HEADERS).end(whole)
    return
  }
  if (!(await beginAnswer(exchange))) return
  const quirk = steering.quirk
  res.writeHead(200, { ...HEADERS, ...(quirk && headersOf(quirk, 'stream')) })
  res.flushHeaders()
  if (steering['hang-body']) return
  const sent = quirk ? quirked(events, quirk) : events
  const compress = quirk && compressorOf(quirk)
  if (compress) {
    res.end(compress(Array.from(sent, ({ text }) => text).join('')))
    return
  }
  const hold = steering.hold && exchange.state.holds.add(exchange.prompt)
  if (hold) res.once('close', hold.drop)
  if (await streamSteered(exchange, sent, failure, hold)) res.end()
}

/** Returns whether the stream is to end in the regular way. Its second piece waits for `hold` to be over. */
async function streamSteered(
  exchange: Exchange,
  events: Iterable<StreamEvent>,
  failure: string,
  hold?: { over: Promise<void> },
): Promise<boolean> {
  const { steering } = exchange
  const between = steering.chunks?.[1] ?? 0
  let sent = 0
  let hasThought = steering.think === undefined
  for (const one of events) {
    if (!one.content && sent > 0 && !hasThought) {
      hasThought = true
      if (!(await pause(exchange, steering.think!))) return false
    }
    if (one.content) {
      if (sent === steering['error-after']) return writeSteered(exchange, failure)
      if (sent === steering['hang-after']) return false
      if (sent === steering['reset-after']) {
        cut(exchange)
        return false
      }
      if (sent === 1) await hold?.over
      if (sent > 0 && between > 0 && !(await pause(exchange, between))) return false
      if (steering.truncated && sent > 0) return writeSteered(exchange, one.text.slice(0, one.text.length / 2))
      sent += 1
    }
    if (!(await writeSteered(exchange, one.text))) return false
  }
  return true
}
