/**
 * How anything static is answered: its headers, 304 for a client that has it, and the one range that is asked for.
 */
import type { Context } from 'koa'

/** Bytes of a content, inclusive at both ends. */
export type Range = { start: number; end: number }

/** A file, or a document that this process made. `size` in bytes. */
export type Content = {
  etag: string
  modifiedAt?: Date
  /** Headers of every answer. */
  headers: Readonly<Record<string, string>>
  /** Headers of the answers that have bytes: `Content-Type`, `Content-Encoding`. */
  ofBody: Readonly<Record<string, string>>
  size: number
  /** Whether a client can ask for a part of it. */
  ranges?: boolean
}

/** Writes the status and the headers of the answer; returns which bytes follow, or null for none. */
export function describeContent(ctx: Context, content: Content): Range | null {
  const { etag, modifiedAt, headers, ofBody, size, ranges = false } = content
  ctx.status = 200
  ctx.set({ ...headers, ETag: etag })
  if (modifiedAt) ctx.set('Last-Modified', modifiedAt.toUTCString())
  if (ranges) ctx.set('Accept-Ranges', 'bytes')
  if (ctx.fresh) {
    ctx.status = 304
    return null
  }
  const range = ranges && ctx.method === 'GET' ? wantedRange(ctx, size) : null
  if (range === 'unsatisfiable') {
    ctx.status = 416
    ctx.set({ 'Content-Range': `bytes */${size}`, 'Cache-Control': 'no-store' })
    ctx.body = ''
    return null
  }
  if (range) {
    ctx.status = 206
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
  }
  const { start, end } = range ?? { start: 0, end: size - 1 }
  ctx.set(ofBody)
  ctx.length = end - start + 1
  return ctx.method === 'GET' ? { start, end } : null
}

/**
 * The one range that a request asks for (RFC 9110, section 14), or null for the whole: without a `Range`, with several
 * or a malformed one, and where `If-Range` names another version.
 */
function wantedRange(ctx: Context, size: number): Range | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(ctx.get('Range').replaceAll(' ', ''))
  if (!match || match[0] === 'bytes=-' || !isSameVersion(ctx)) return null
  const [first, last] = [match[1]!, match[2]!]
  if (first === '' && Number(last) === 0) return 'unsatisfiable'
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return null
  const range = { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
  return range.start >= size ? 'unsatisfiable' : range
}

function isSameVersion(ctx: Context): boolean {
  const known = ctx.get('If-Range')
  return known === '' || known === ctx.response.get('ETag') || known === ctx.response.get('Last-Modified')
}
