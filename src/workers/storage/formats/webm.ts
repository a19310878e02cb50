import { ID, elementsIn, lengthAt, lengthOf, numberAt } from '../../../shared/media-files/ebml.ts'
import type { Format } from './reading.ts'
import { broken, pass, take, takeOrEnd } from './reading.ts'

const VIDEO = 1

/** What a segment may contain: SeekHead, Info, Tracks, Cluster, Cues, Attachments, Chapters, Tags, Void, CRC-32 … */
const IN_SEGMENT = [
  0x114d9b74,
  ID.info,
  ID.tracks,
  ID.cluster,
  0x1c53bb6b,
  0x1941a469,
  0x1043a770,
  0x1254c367,
  0xec,
  0xbf,
]
/** … and a cluster: Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock. */
const IN_CLUSTER = [0xe7, 0x5854, 0xa7, 0xab, ID.simpleBlock, ID.group, 0xaf]
const ELEMENTS = new Set<number>([...IN_SEGMENT, ...IN_CLUSTER])

/** The list of tracks is read into memory; a real one has some hundred bytes. */
const MAX_TRACKS_BYTES = 4 * 1024 * 1024

/** The bytes of a number, of which the first is there. */
function* numberFrom(first: Buffer, most: number, what: string): Format<Buffer> {
  const bytes = lengthOf(first[0]!)
  if (bytes > most) throw broken(`an element has no ${what}`)
  return Buffer.concat([first, yield* take(bytes - 1)])
}

function* element(first: Buffer): Format<{ id: number; size: number; headBytes: number }> {
  const id = yield* numberFrom(first, 4, 'name')
  const size = yield* numberFrom(yield* take(1), 8, 'length')
  return { id: numberAt(id, 0, 4, true)!.value, size: lengthAt(size, 0)!.value, headBytes: id.length + size.length }
}

/** The DocType of an EBML file from its first bytes: `webm`, `matroska`, … or null. */
export function docTypeOf(head: Buffer): string | null {
  const length = lengthAt(head, 4)
  if (!length) return null
  const from = 4 + length.bytes
  for (const { id, content } of elementsIn(head.subarray(from, from + length.value))) {
    if (id === ID.docType) return content.toString('latin1').replace(/\0+$/, '')
  }
  return null
}

function declaresVideo(tracks: Buffer): boolean {
  for (const track of elementsIn(tracks)) {
    if (track.id !== ID.track) continue
    for (const { id, content } of elementsIn(track.content)) {
      if (id === ID.type && content.at(-1) === VIDEO) return true
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
  if (segment.id !== ID.segment) throw broken('it has no segment')
  let left = segment.size
  let video = false
  let frames = false
  while (left > 0) {
    const first = left === Infinity ? yield* takeOrEnd(1) : yield* take(1)
    if (!first) break
    const { id, size, headBytes } = yield* element(first)
    if (!ELEMENTS.has(id)) throw broken('it has an unknown element')
    left -= headBytes
    // A live cluster has no length: its elements follow in this same loop, until those of the segment go on.
    if (id === ID.cluster && size === Infinity) continue
    left -= size
    if (size === Infinity || left < 0) throw broken('its elements do not add up')
    if (id === ID.tracks) video = (yield* videoAmong(size)) || video
    else yield* pass(size)
    frames ||= (id === ID.cluster || id === ID.simpleBlock || id === ID.group) && size > 0
  }
  if (!video) throw broken('it has no video track')
  if (!frames) throw broken('it has no frames')
}

function* videoAmong(size: number): Format<boolean> {
  if (size > MAX_TRACKS_BYTES) throw broken('its list of tracks is too long')
  return declaresVideo(yield* take(size))
}
