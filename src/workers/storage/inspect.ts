import type { MediaExtension, MediaKind } from '../../shared/media/media.ts'
import { kindOf } from '../../shared/media/media.ts'
import { FORMATS, SNIFF_BYTES, sniff } from './formats/table.ts'
import { Reading, cutShort } from './formats/reading.ts'
import { MediaRefused } from './refused.ts'

/** What bytes must be to be taken. */
export type MediaExpectation = {
  kind: MediaKind
  /** The most bytes of the whole file. */
  maxBytes: number
  /** The most bytes that an image may unpack to; by default `MAX_UNPACKED_BYTES`. */
  maxUnpackedBytes?: number
}

/** The most bytes that an image that an upstream has made may unpack to. */
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024

/** Bytes whose type is known. The body must be read, or closed, to its end. */
export type Inspected = {
  extension: MediaExtension
  /** The same bytes. It throws `MediaRefused` instead of ending where the file is too large, broken or cut short. */
  body: AsyncGenerator<Uint8Array, void, void>
  /** How many bytes the body has given so far. */
  progress: { bytes: number }
}

/**
 * Decides the type of a stream of bytes from the bytes themselves, never from a declared type, and checks on
 * the way through that they are a complete file of that type. Nothing may be published before the body has ended.
 * @throws MediaRefused for a type that is not stored or is of the other kind; what the source throws
 */
export async function inspect(source: AsyncIterable<Uint8Array>, expected: MediaExpectation): Promise<Inspected> {
  const chunks = source[Symbol.asyncIterator]()
  try {
    const head = await firstBytes(chunks)
    const extension = sniff(Buffer.concat(head).subarray(0, SNIFF_BYTES))
    if (extension === null || kindOf(extension) !== expected.kind) throw refusalOf(head, expected.kind)
    const progress = { bytes: 0 }
    const reading = new Reading(FORMATS[extension](expected.maxUnpackedBytes ?? MAX_UNPACKED_BYTES))
    const body = checked({ head, rest: chunks }, reading, expected.maxBytes, progress)
    return { extension, body: await started(body), progress }
  } catch (error) {
    await chunks.return?.()
    throw error
  }
}

function refusalOf(head: Uint8Array[], kind: MediaKind): MediaRefused {
  if (head.length === 0) return cutShort()
  const types = kind === 'image' ? 'PNG, JPEG, WebP or GIF image' : 'MP4, WebM or QuickTime video'
  return new MediaRefused('unsupported_type', `The file is no ${types}.`)
}

async function firstBytes(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array[]> {
  const head: Uint8Array[] = []
  let bytes = 0
  while (bytes < SNIFF_BYTES) {
    const next = await chunks.next()
    if (next.done) break
    if (next.value.length > 0) head.push(next.value)
    bytes += next.value.length
  }
  return head
}

/** A stream whose first chunks were read already. */
type Chunks = { head: Uint8Array[]; rest: AsyncIterator<Uint8Array> }

async function* checked(
  chunks: Chunks,
  reading: Reading,
  maxBytes: number,
  progress: Inspected['progress'],
): Inspected['body'] {
  try {
    yield NOTHING
    for await (const chunk of following(chunks)) {
      progress.bytes += chunk.length
      if (progress.bytes > maxBytes) throw new MediaRefused('too_large', `The file is larger than ${maxBytes} bytes.`)
      await reading.write(chunk)
      yield chunk
    }
    await reading.end()
  } finally {
    reading.abandon()
    await chunks.rest.return?.()
  }
}

async function* following({ head, rest }: Chunks): AsyncGenerator<Uint8Array> {
  yield* head
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

/** A first piece that is not read: it only brings a generator past its first `yield`. */
export const NOTHING = new Uint8Array(0)

/**
 * Starts a generator whose first piece is `NOTHING`. Closing a generator that was never started runs none of its
 * code: without this, the socket or file of unread bytes would stay open.
 */
export async function started<T extends AsyncGenerator<Uint8Array, void, void>>(generator: T): Promise<T> {
  await generator.next()
  return generator
}
