import { once } from 'node:events'
import type { Exchange } from '../exchange.ts'
import { UNSTEERED } from '../steering.ts'

/** A placeholder for bytes that are not UTF-8; replaced when sent. */
export const INVALID_MARK = '\uE000'
/** A placeholder for the megabytes of `[big]`; replaced when sent. */
export const FILLER_MARK = '\uE001'

/** Long enough for what was written to arrive. */
const TRAVEL_MS = 20
const MEGABYTE = 1024 * 1024
const FILLER_PIECE = 64 * 1024
// Both valid base64 and valid text, so that one filler serves images and chats.
const FILLER = 'A'.repeat(FILLER_PIECE)
const INVALID_MARK_BYTES = Buffer.from(INVALID_MARK)
const INVALID_BYTES = Buffer.from([0xff, 0xfe, 0xff])

/** Waits `ms` milliseconds. Returns false, at once, if the client has disconnected. */
export function pause(exchange: Exchange, ms: number): Promise<boolean> {
  const { res } = exchange
  if (res.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const left = (): void => {
      clearTimeout(timer)
      resolve(false)
    }
    const timer = setTimeout(() => {
      res.off('close', left)
      resolve(true)
    }, ms)
    res.once('close', left)
  })
}

/** Resets the connection: the client sees ECONNRESET, not an orderly end. */
export function cut(exchange: Exchange): void {
  exchange.cutBySandbox = true
  const { socket } = exchange.req
  if (!exchange.res.headersSent) socket.resetAndDestroy()
  // A reset discards what is still on its way, and the client must see what was written.
  else setTimeout(() => socket.resetAndDestroy(), TRAVEL_MS)
}

/** Writes a part of the body at the reader's pace. Returns false if the client has disconnected. */
export async function writeOut(exchange: Exchange, chunk: string | Buffer): Promise<boolean> {
  const { res } = exchange
  if (res.destroyed) return false
  if (res.write(chunk)) return true
  // Whichever comes first: a client that has disconnected never drains.
  const ended = new AbortController()
  const drained = once(res, 'drain', { signal: ended.signal }).then(
    () => true,
    () => false,
  )
  const closed = once(res, 'close', { signal: ended.signal }).then(
    () => false,
    () => false,
  )
  const goesOn = await Promise.race([drained, closed])
  ended.abort()
  return goesOn
}

/** Writes text as steered: in pieces, byte by byte, with filler or with broken bytes. */
export async function writeSteered(exchange: Exchange, text: string): Promise<boolean> {
  if (exchange.steering === UNSTEERED) return writeOut(exchange, text)
  const [head, ...rest] = text.split(FILLER_MARK)
  if (!(await writeBytes(exchange, asBytes(head!)))) return false
  for (const piece of rest) {
    if (!(await writeFiller(exchange)) || !(await writeBytes(exchange, asBytes(piece)))) return false
  }
  return true
}

/** The pieces of text that `[big MB]` streams. */
export function* fillerPieces(megabytes: number): Generator<string> {
  for (let left = megabytes * MEGABYTE; left > 0; left -= FILLER_PIECE) yield FILLER
}

async function writeFiller(exchange: Exchange): Promise<boolean> {
  for (const piece of fillerPieces(exchange.steering.big ?? 0)) {
    if (!(await writeOut(exchange, piece))) return false
  }
  return true
}

async function writeBytes(exchange: Exchange, bytes: Buffer): Promise<boolean> {
  const { steering } = exchange
  if (steering.drip !== undefined) return drip(exchange, bytes, steering.drip)
  const split = steering['cut-mid-char'] ? bytes.findIndex((byte) => (byte & 0xc0) === 0x80) : -1
  if (split < 0) return bytes.length === 0 || writeOut(exchange, bytes)
  if (!(await writeOut(exchange, bytes.subarray(0, split)))) return false
  if (!(await pause(exchange, TRAVEL_MS))) return false
  return writeOut(exchange, bytes.subarray(split))
}

async function drip(exchange: Exchange, bytes: Buffer, ms: number): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += 1) {
    if (!(await writeOut(exchange, bytes.subarray(at, at + 1))) || !(await pause(exchange, ms))) return false
  }
  return true
}

function asBytes(text: string): Buffer {
  const bytes = Buffer.from(text)
  for (let at = bytes.indexOf(INVALID_MARK_BYTES); at >= 0; at = bytes.indexOf(INVALID_MARK_BYTES, at)) {
    INVALID_BYTES.copy(bytes, at)
  }
  return bytes
}
