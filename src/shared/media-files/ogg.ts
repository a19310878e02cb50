/**
 * Ogg (RFC 3533) with Opus or Vorbis: all packets of all its streams. The positions that its pages state are not read.
 * Decoders skip the head of a damaged page and search for others inside it, so a file with one is refused.
 */
import type { PacketClock } from './packets.ts'
import { opusClock, vorbisClock } from './packets.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'
import { MAX_SETUP_BYTES } from './vorbis-setup.ts'

/** Logical streams of one file: recordings may be chained. */
const MAX_STREAMS = 64

/** The bytes of a stream's first packet that are read. */
const FIRST_BYTES = 64

/** What every page begins with. */
const PAGE = Buffer.from('OggS')

/** Where a page states its checksum. */
const CHECKSUM_AT = 22

/**
 * One stream: `packet` is the number of the packet that is read, `head` has its
 * beginning at `headAt`, and `bytes` is its length so far.
 */
type Stream = {
  clock: PacketClock | null
  headers: number
  first: Buffer
  setup: Buffer[]
  packet: number
  head: Buffer
  headAt: number
  bytes: number
}

/** The seconds of an Ogg file. @throws NoSound */
export function oggSeconds(file: SoundReader): number {
  const streams = new Map<number, Stream>()
  let begun = 0
  let ended = 0
  let place = 0
  while (place >= 0 && place + 27 <= file.bytes) {
    const head = file.at(place, 27)
    if (!head.subarray(0, 4).equals(PAGE)) {
      place = file.find(PAGE, place + 1)
      continue
    }
    const serial = head.readUInt32LE(14)
    const isFirst = (head[5]! & 2) !== 0
    const lengths = file.at(place + 27, head[26]!)
    const page = file.at(place, 27 + lengths.length + sumOf(lengths))
    if (isCut(page) ? file.find(PAGE, place + 1) >= 0 : isDamaged(page)) throw new NoSound('has a damaged page')
    const body = page.subarray(27 + lengths.length)
    let stream = streams.get(serial)
    // Decoders begin one at any page of a number that they do not know, whether it states that it is the first or not.
    if (isFirst || !stream) {
      if (++begun > MAX_STREAMS) throw new NoSound('has too many streams')
      ended += stream?.clock?.seconds() ?? 0
      stream = streamOf(body.subarray(0, FIRST_BYTES))
      streams.set(serial, stream)
    }
    // Some decoders join a packet that its next page does not continue to the one behind it, others drop it.
    if (stream.bytes > 0 && (head[5]! & 1) === 0) endPacket(stream)
    takePage(stream, lengths, body)
    place += page.length
  }
  const seconds = [...streams.values()].reduce((sum, { clock }) => sum + (clock?.seconds() ?? 0), ended)
  if (seconds === 0) throw new NoSound('is an Ogg file without sound')
  return seconds
}

const sumOf = (lengths: Buffer): number => lengths.reduce((sum, length) => sum + length, 0)

/** Whether the file ends before a page does. */
function isCut(page: Buffer): boolean {
  const lengths = page.subarray(27, 27 + page[26]!)
  return page.length < 27 + page[26]! + sumOf(lengths)
}

/** Whether a page has another version than decoders read, or another checksum than it states. */
const isDamaged = (page: Buffer): boolean => page[4] !== 0 || page.readUInt32LE(CHECKSUM_AT) !== oggChecksum(page)

/** The polynomial 0x04c11db7, by byte. */
const CRC32 = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc
})

/** The checksum of a whole page (RFC 3533, 6): its own field counts as zeros. */
export function oggChecksum(page: Uint8Array): number {
  let crc = 0
  for (let at = 0; at < page.length; at++) {
    const byte = at >= CHECKSUM_AT && at < CHECKSUM_AT + 4 ? 0 : page[at]!
    crc = (crc << 8) ^ CRC32[(crc >>> 24) ^ byte]!
  }
  return crc >>> 0
}

/** @param first the first packet of a stream, which states what it is */
function streamOf(first: Buffer): Stream {
  const begun = { first: Buffer.from(first), setup: [], packet: 0, head: first, headAt: 0, bytes: 0 }
  if (first.toString('latin1', 0, 8) === 'OpusHead') return { clock: opusClock(), headers: 2, ...begun }
  if (first.toString('latin1', 0, 7) === '\x01vorbis') return { clock: null, headers: 3, ...begun }
  throw new NoSound('is an Ogg file of a coding that is not taken: send Opus or Vorbis')
}

/** Takes the packets of a page: a length below 255 ends one. */
function takePage(stream: Stream, lengths: Buffer, page: Buffer): void {
  let place = 0
  for (const length of lengths) {
    if (stream.bytes === 0) {
      stream.head = page
      stream.headAt = place
    }
    stream.bytes += length
    if (stream.packet === 2 && !stream.clock) {
      if (stream.bytes > MAX_SETUP_BYTES) throw new NoSound('has a broken head of Vorbis')
      stream.setup.push(Buffer.from(page.subarray(place, place + length)))
    }
    place += length
    if (length < 255) endPacket(stream)
  }
}

function endPacket(stream: Stream): void {
  if (stream.packet >= stream.headers) stream.clock!.take(stream.head, stream.headAt, stream.bytes)
  else if (stream.packet === 2) stream.clock = vorbisClock(stream.first, Buffer.concat(stream.setup.splice(0)))
  stream.packet++
  stream.bytes = 0
}
