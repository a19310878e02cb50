/**
 * Ogg (RFC 3533) with Opus or Vorbis: all packets of all its streams. The positions that its pages state count only as
 * far as the packets can be so long.
 */
import type { PacketClock } from './packets.ts'
import { opusClock, vorbisClock } from './packets.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'

/** Logical streams of one file: recordings may be chained. */
const MAX_STREAMS = 1000

/** The bytes of a packet's beginning that are looked at. */
const HEAD_BYTES = 64

/** What every page begins with. */
const PAGE = Buffer.from('OggS')

type Stream = { clock: PacketClock; rate: number; last: number; head: Buffer; bytes: number; toSkip: number }

/** The seconds of an Ogg file. @throws NoSound */
export async function oggSeconds(file: SoundReader): Promise<number> {
  const streams = new Map<number, Stream>()
  const ended: Stream[] = []
  let place = 0
  while (place + 27 <= file.bytes) {
    const head = await file.at(place, 27)
    if (head.toString('latin1', 0, 4) !== 'OggS') {
      place = await file.find(PAGE, place + 1)
      if (place < 0) break
      continue
    }
    const lengths = await file.at(place + 27, head[26]!)
    const body = place + 27 + lengths.length
    const bytes = lengths.reduce((sum, length) => sum + length, 0)
    const serial = head.readUInt32LE(14)
    // Decoders begin one at any page of a number that they do not know, whether it says that it is the first or not.
    if (head[5]! & 2 || !streams.has(serial)) {
      if (streams.has(serial)) ended.push(streams.get(serial)!)
      if (ended.length + streams.size >= MAX_STREAMS) throw new NoSound('has too many streams')
      streams.set(serial, streamOf(await file.at(body, Math.min(bytes, HEAD_BYTES))))
    }
    const stream = streams.get(serial)
    const page = await file.at(body, bytes)
    if (stream) takePage(stream, lengths, page, Number(head.readBigInt64LE(6)))
    place = body + bytes
  }
  const all = [...ended, ...streams.values()]
  const seconds = all.reduce((sum, { clock, last, rate }) => sum + clock.seconds(last / rate), 0)
  if (seconds === 0) throw new NoSound('is an Ogg file without sound')
  return seconds
}

/** @param first the first packet of a stream, which says what it is */
function streamOf(first: Buffer): Stream {
  const more = { last: 0, head: Buffer.alloc(0), bytes: 0 }
  if (first.toString('latin1', 0, 8) === 'OpusHead') return { clock: opusClock(), rate: 48_000, toSkip: 2, ...more }
  if (first.toString('latin1', 0, 7) === '\x01vorbis')
    return { clock: vorbisClock(first), rate: first.readUInt32LE(12), toSkip: 3, ...more }
  throw new NoSound('is an Ogg file of a coding that is not taken: send Opus or Vorbis')
}

/** Takes the packets of a page: a length below 255 ends one. */
function takePage(stream: Stream, lengths: Buffer, page: Buffer, position: number): void {
  let place = 0
  for (const length of lengths) {
    if (stream.bytes < HEAD_BYTES) stream.head = Buffer.concat([stream.head, page.subarray(place, place + length)])
    stream.bytes += length
    place += length
    if (length === 255) continue
    if (stream.toSkip > 0) stream.toSkip--
    else stream.clock.take(stream.head, stream.bytes)
    stream.head = Buffer.alloc(0)
    stream.bytes = 0
  }
  if (position > stream.last) stream.last = position
}
