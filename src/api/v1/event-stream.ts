/**
 * Server-sent events (WHATWG HTML, section 9.2) as a response body.
 */
import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import { HEARTBEAT_MS } from './answer.ts'

/**
 * What a reader may leave unread, in bytes; beyond it the reader is cut off, so that it cannot fill our memory. Twice the
 * largest event that an upstream may send: a reader that is only slow over a picture is not one that does not read.
 */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

export type EventStream = {
  /** Sends one event; `event` names it where it is not plain data. `data` is one line. */
  send: (data: string, event?: string) => void
  /** Sends a comment: a sign of life for routers, which readers pass over. */
  comment: () => void
  end: () => void
}

/** Begins a 200 whose body is a stream of events, with a comment every 15 s so that no router cuts a silent one. */
export function beginEventStream(ctx: Context): EventStream {
  const body = new PassThrough()
  ctx.status = 200
  ctx.type = 'text/event-stream'
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Accel-Buffering', 'no')
  ctx.body = body
  const write = (text: string): void => {
    if (body.writableLength > MAX_UNREAD_BYTES) body.destroy()
    if (!body.destroyed) body.write(text)
  }
  const comment = () => write(': still here\n\n')
  const beat = setInterval(comment, HEARTBEAT_MS)
  body.once('close', () => clearInterval(beat))
  return {
    send: (data, event) => write(`${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`),
    comment,
    end: () => {
      clearInterval(beat)
      body.end()
    },
  }
}
