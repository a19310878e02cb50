/**
 * Server-sent events (WHATWG HTML, section 9.2) as a response body.
 */
import type { Context } from 'koa'
import { onFinished } from '../../server/on-finished.ts'
import type { Hold } from '../../server/response-memory.ts'
import { HEARTBEAT_MS } from './answer-call.ts'

/**
 * The most unread bytes of the reader of one stream; beyond it the reader is cut off, so that it cannot fill our
 * memory. Twice the largest event that an upstream may send, so that a reader may be slow over a picture.
 */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** What every stream may have unread without being counted, in bytes. */
const UNCOUNTED_BYTES = 64 * 1024

/** An open answer of server-sent events. */
export type EventStream = {
  /** Sends one event; `event` names it where it is not plain data. `data` is one line. */
  send: (data: string, event?: string) => void
  /** Sends a sign of life for routers, which readers pass over. */
  signOfLife: () => void
  end: () => void
}

/** One newline only: some readers take the blank line after a comment for an empty, broken event. */
const COMMENT = ': still here\n'

/** How events are written. `signOfLife` is what readers pass over. */
export type Wire = {
  type: string
  signOfLife: string
  /** @param isFirst whether it is the first event */
  event: (data: string, name: string | undefined, isFirst: boolean) => string
  /** What is behind the last event. @param isEmpty whether there was none */
  end: (isEmpty: boolean) => string
}

const SERVER_SENT: Wire = {
  type: 'text/event-stream',
  signOfLife: COMMENT,
  event: (data, name) => `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`,
  end: () => '',
}

/**
 * Begins a 200 whose body is a stream of events, with a comment after 15 s without a byte, so that no router cuts it.
 * What is sent in one turn of the event loop is one write. A reader that has too much unread is cut off,
 * which its handler sees as a client that disconnects.
 * @param own what is written otherwise than server-sent events
 */
export function beginEventStream(ctx: Context, hold: Hold, own: Partial<Wire> = {}): EventStream {
  const { type, signOfLife, event: written, end: behind } = { ...SERVER_SENT, ...own }
  const { res } = ctx
  let text = ''
  let isEmpty = true
  ctx.status = 200
  ctx.type = type
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Accel-Buffering', 'no')
  ctx.respond = false
  const isCounted = (unread: number): boolean => hold.set(unread > UNCOUNTED_BYTES ? unread : 0)
  const flush = (): void => {
    const sent = text
    text = ''
    if (sent === '' || res.destroyed || res.writableEnded) return
    const unread = res.writableLength
    if (unread > MAX_UNREAD_BYTES || !isCounted(unread + Buffer.byteLength(sent))) res.destroy()
    else res.write(sent)
  }
  const write = (more: string): void => {
    // All headers are set before the first write.
    if (text === '') process.nextTick(flush)
    text += more
    beat.refresh()
  }
  res.on('drain', () => isCounted(res.writableLength))
  const live = () => write(signOfLife)
  const beat = setInterval(live, HEARTBEAT_MS)
  onFinished(ctx, () => clearInterval(beat))
  return {
    send: (data, event) => {
      write(written(data, event, isEmpty))
      isEmpty = false
    },
    signOfLife: live,
    end: () => {
      clearInterval(beat)
      text += behind(isEmpty)
      process.nextTick(() => {
        flush()
        res.end()
      })
    },
  }
}
