import type { Format } from './reading.ts'
import { broken, pass, take, takeOrEnd } from './reading.ts'

const SEGMENT = 0x18538067
const TRACKS = 0x1654ae6b
const CLUSTER = 0x1f43b675
const TRACK_ENTRY = 0xae
const TRACK_TYPE = 0x83
const VIDEO = 1
const DOC_TYPE = 0x4282
const SIMPLE_BLOCK = 0xa3
const BLOCK_GROUP = 0xa0

/** What may stand in a segment: SeekHead, Info, Tracks, Cluster, Cues, Attachments, Chapters, Tags, Void, CRC-32 … */
const IN_SEGMENT = [0x114d9b74, 0x1549a966, TRACKS, CLUSTER, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367, 0xec, 0xbf]
/** … and in a cluster: Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock. */
const IN_CLUSTER = [0xe7, 0x5854, 0xa7, 0xab, SIMPLE_BLOCK, BLOCK_GROUP, 0xaf]

/** The list of tracks is read into memory; a real one has some hundred bytes. */
const MAX_TRACKS_BYTES = 4 * 1024 * 1024

/** How many bytes follow the first one of a variable-length number. */
const moreBytes = (first: number) => Math.clz32(first) - 24

/** The value of a variable-length size, or `Infinity` for the pattern of ones that means "unknown". */
function sizeOf(bytes: Buffer): number {
  const unknown = (1n << BigInt(7 * bytes.length)) - 1n
  const size = BigInt(`0x${bytes.toString('hex')}`) & unknown
  return size === unknown ? Infinity : Number(size)
}

function* element(first: Buffer): Format<{ id: number; size: number; headBytes: number }> {
  const idMore = moreBytes(first[0]!)
  if (idMore > 3) throw broken('an element has no name')
  const id = Buffer.concat([first, yield* take(idMore)]).readUIntBE(0, idMore + 1)
  const sizeFirst = yield* take(1)
  const sizeMore = moreBytes(sizeFirst[0]!)
  if (sizeMore > 7) throw broken('an element has no length')
  const size = sizeOf(Buffer.concat([sizeFirst, yield* take(sizeMore)]))
  return { id, size, headBytes: 2 + idMore + sizeMore }
}

/** The elements inside bytes that are in memory already. Stops at the first that does not fit. */
function* elementsIn(bytes: Buffer): Generator<{ id: number; content: Buffer }> {
  let offset = 0
  while (offset + 2 <= bytes.length) {
    const idEnd = offset + 1 + moreBytes(bytes[offset]!)
    if (idEnd > offset + 4 || idEnd >= bytes.length) return
    const sizeEnd = idEnd + 1 + moreBytes(bytes[idEnd]!)
    if (sizeEnd > idEnd + 8 || sizeEnd > bytes.length) return
    const end = sizeEnd + sizeOf(bytes.subarray(idEnd, sizeEnd))
    if (end > bytes.length) return
    yield { id: bytes.readUIntBE(offset, idEnd - offset), content: bytes.subarray(sizeEnd, end) }
    offset = end
  }
}

/** The DocType of an EBML file from its first bytes: `webm`, `matroska`, … or null. */
export function docTypeOf(head: Buffer): string | null {
  const sizeEnd = 5 + moreBytes(head[4] ?? 0)
  if (sizeEnd > 12 || sizeEnd > head.length) return null
  const content = head.subarray(sizeEnd, sizeEnd + sizeOf(head.subarray(4, sizeEnd)))
  for (const { id, content: text } of elementsIn(content)) {
    if (id === DOC_TYPE) return text.toString('latin1').replace(/\0+$/, '')
  }
  return null
}

function declaresVideo(tracks: Buffer): boolean {
  for (const track of elementsIn(tracks)) {
    if (track.id !== TRACK_ENTRY) continue
    for (const { id, content } of elementsIn(track.content)) {
      if (id === TRACK_TYPE && content.at(-1) === VIDEO) return true
    }
  }
  return false
}

/**
 * WebM: the EBML header, one segment whose elements fill it exactly (or, in the live form without lengths, end with
 * the file), a video track, and at least one block of frames.
 */
export function* webm(): Format {
  yield* pass((yield* element(yield* take(1))).size)
  const segment = yield* element(yield* take(1))
  if (segment.id !== SEGMENT) throw broken('it has no segment')
  let left = segment.size
  let video = false
  let frames = false
  while (left > 0) {
    const first = left === Infinity ? yield* takeOrEnd(1) : yield* take(1)
    if (!first) break
    const { id, size, headBytes } = yield* element(first)
    if (!IN_SEGMENT.includes(id) && !IN_CLUSTER.includes(id)) throw broken('it has an unknown element')
    left -= headBytes
    // A live cluster has no length: its elements follow in this same loop, until those of the segment go on.
    if (id === CLUSTER && size === Infinity) continue
    left -= size
    if (size === Infinity || left < 0) throw broken('its elements do not add up')
    if (id === TRACKS) video = (yield* videoAmong(size)) || video
    else yield* pass(size)
    frames ||= (id === CLUSTER || id === SIMPLE_BLOCK || id === BLOCK_GROUP) && size > 0
  }
  if (!video) throw broken('it has no video track')
  if (!frames) throw broken('it has no frames')
}

function* videoAmong(size: number): Format<boolean> {
  if (size > MAX_TRACKS_BYTES) throw broken('its list of tracks is too long')
  return declaresVideo(yield* take(size))
}
