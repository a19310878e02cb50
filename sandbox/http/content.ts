import type { Exchange } from '../exchange.ts'
import type { Content } from '../media/render.ts'
import { cut, writeOut } from './outlet.ts'

interface Range {
  readonly from: number
  /** The last byte, inclusive. */
  readonly to: number
}

/** Sends bytes: all of them, or the one range that a `Range` header asks for (206, or 416 where it is outside). */
export async function sendContent(exchange: Exchange, { bytes, type }: Content): Promise<void> {
  const { req, res } = exchange
  const range = rangeOf(req.headers.range, bytes.length)
  const headers = { 'content-type': type, 'accept-ranges': 'bytes', 'cache-control': 'private, max-age=3600' }
  if (range === 'outside') {
    res.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
    return
  }
  const part = range ? bytes.subarray(range.from, range.to + 1) : bytes
  res.writeHead(range ? 206 : 200, {
    ...headers,
    'content-length': part.length,
    ...(range && { 'content-range': `bytes ${range.from}-${range.to}/${bytes.length}` }),
  })
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  await writePart(exchange, part)
}

/** Sends bytes followed by `megabytes` megabytes of zeros, at the reader's pace. */
export async function sendPadded(exchange: Exchange, { bytes, type }: Content, megabytes: number): Promise<void> {
  const { res } = exchange
  const zeros = Buffer.alloc(1024 * 1024)
  res.writeHead(200, { 'content-type': type, 'content-length': bytes.length + megabytes * zeros.length })
  if (!(await writeOut(exchange, bytes))) return
  for (let sent = 0; sent < megabytes; sent += 1) {
    if (!(await writeOut(exchange, zeros))) return
  }
  res.end()
}

async function writePart(exchange: Exchange, part: Buffer): Promise<void> {
  const { steering, res } = exchange
  if (!steering['content-cut'] && !steering['content-hang']) {
    res.end(part)
    return
  }
  await writeOut(exchange, part.subarray(0, Math.floor(part.length / 2)))
  if (steering['content-cut']) cut(exchange)
}

/** The requested range; undefined for the whole, and where the header is malformed or names several. */
function rangeOf(header: string | undefined, length: number): Range | 'outside' | undefined {
  const found = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (!found || (!found[1] && !found[2])) return undefined
  const from = found[1] ? Number(found[1]) : Math.max(0, length - Number(found[2]))
  const to = found[1] && found[2] ? Math.min(Number(found[2]), length - 1) : length - 1
  if (found[1] && found[2] && Number(found[2]) < from) return undefined
  return from >= length ? 'outside' : { from, to }
}
