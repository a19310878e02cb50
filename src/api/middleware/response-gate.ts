/**
 * The gate that every answer passes before its first byte: a long one takes its bytes from what its account may have
 * unread (docs/guarantees.md#what-a-hostile-customer-cannot-do).
 */
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { ResponseMemory } from '../server/response-memory.ts'
import type { RequestState } from './request-context.ts'

/** Shorter answers are not counted, in bytes. */
const UNCOUNTED_BYTES = 64 * 1024

/** What a stream that waits for its reader holds: a piece of it, the next one, and what the socket has. In bytes. */
const STREAM_BYTES = 256 * 1024

/** Headers of an answer that do not apply to the error in its place. */
const OF_ANSWER = ['Content-Disposition', 'Content-Range', 'ETag', 'Last-Modified']

/** Admits the answer of a request. @throws ApiError overloaded if too much is unread already */
export type Admit = (ctx: Context & { state: RequestState }) => void

/**
 * The gate of a process. JSON becomes its text here, so that it is written once. A stream is counted by what writes it,
 * if that has taken its hold; else a holder's is counted as one that waits for its reader.
 */
export const responseGate =
  (memory: ResponseMemory): Admit =>
  (ctx) => {
    const { body } = ctx
    if (ctx.respond === false || ctx.method === 'HEAD' || body === undefined || body === null) return
    try {
      if (body instanceof Readable) {
        if (isOfHolder(ctx) && !memory.isCounted(ctx)) memory.hold(ctx).require(STREAM_BYTES)
        return
      }
      const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const bytes = Buffer.byteLength(sent)
      const isCounted = bytes > UNCOUNTED_BYTES && !ctx.state.isAsset
      if (isCounted) memory.hold(ctx).require(bytes)
      // A socket copies what it cannot send of a text at once.
      if (typeof sent === 'string' && (isCounted || sent !== body)) ctx.body = isCounted ? Buffer.from(sent) : sent
    } catch (error) {
      if (body instanceof Readable) body.destroy()
      for (const name of OF_ANSWER) ctx.remove(name)
      throw error
    }
  }

const isOfHolder = ({ state: { principal, session } }: Context & { state: RequestState }): boolean =>
  principal !== undefined || session !== undefined
