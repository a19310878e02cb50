/**
 * WebM (Matroska) with Opus or Vorbis: all packets of its sound. The length that its head states is not read; the times
 * of its blocks count only as far as the packets can be so long.
 */
import type { PacketClock } from './packets.ts'
import { opusClock, vorbisClock } from './packets.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'

/** Elements by their ids (RFC 9559). */
const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timescale: 0x2ad7b1,
  tracks: 0x1654ae6b,
  track: 0xae,
  number: 0xd7,
  type: 0x83,
  codec: 0x86,
  settings: 0x63a2,
  cluster: 0x1f43b675,
  time: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
  encodings: 0x6d80,
}

/** What every cluster begins with. */
const CLUSTER = Buffer.from([0x1f, 0x43, 0xb6, 0x75])

/** Elements that have others in them. They are gone into, whatever length they state: a recorder knows none. */
const PARENTS = new Set([ID.segment, ID.info, ID.tracks, ID.track, ID.cluster, ID.group])

/** Elements of one file. */
const MAX_ELEMENTS = 2_000_000

/** The longest value that is read of an element, in bytes; of a block its head is enough. */
const MAX_VALUE = 65_536

const SOUND_TRACK = 2

type Track = { number: number; type: number; codec: string; settings: Buffer }

/** The seconds of a WebM file. @throws NoSound */
export async function webmSeconds(file: SoundReader): Promise<number> {
  const walk = new Walk()
  // Where the elements end that what is read now stands in.
  let ends: number[] = []
  let place = 0
  for (let elements = 0; place >= 0 && place < file.bytes; elements++) {
    if (elements > MAX_ELEMENTS) throw new NoSound('has too many elements')
    while ((ends.at(-1) ?? Infinity) <= place) ends.pop()
    const head = await file.at(place, 12)
    const id = numberAt(head, 0, 4, true)
    const length = id && numberAt(head, id.bytes, 8, false)
    if (!id || !length) {
      place = await file.find(CLUSTER, place + 1)
      continue
    }
    const from = place + id.bytes + length.bytes
    if (PARENTS.has(id.value)) {
      walk.begin(id.value)
      if (id.value === ID.cluster) ends = []
      ends.push(from + length.value)
      place = from
      continue
    }
    const bytes = Math.min(length.value, file.bytes - from)
    if (walk.wants(id.value)) walk.take(id.value, await file.at(from, Math.min(bytes, MAX_VALUE)), bytes)
    // What is longer than it can be is no reason for decoders not to look for the next cluster behind its head.
    place = from + length.value > Math.min(file.bytes, ...ends) ? await file.find(CLUSTER, from) : from + bytes
  }
  return walk.seconds()
}

/** A number of EBML at a place: its first byte says how long it is. Null where there is none. */
function numberAt(
  bytes: Buffer,
  place: number,
  most: number,
  withMark: boolean,
): { value: number; bytes: number } | null {
  const first = bytes[place] ?? 0
  const length = Math.clz32(first) - 23
  if (first === 0 || length > most || bytes.length < place + length) return null
  let value = withMark ? first : first & (0xff >> length)
  for (let at = 1; at < length; at++) value = value * 256 + bytes[place + at]!
  return { value, bytes: length }
}

const { timescale, number, type, codec, settings, time, block, simpleBlock, encodings } = ID
const WANTED = new Set([timescale, number, type, codec, settings, time, block, simpleBlock, encodings])

/** What was found so far. */
class Walk {
  private readonly tracks: Track[] = []
  private readonly clocks = new Map<number, PacketClock>()
  private tickSeconds = 0.001
  private cluster = 0
  private last = 0

  begin(id: number): void {
    if (id === ID.track) this.tracks.push({ number: 0, type: 0, codec: '', settings: Buffer.alloc(0) })
  }

  wants(id: number): boolean {
    return WANTED.has(id)
  }

  take(id: number, value: Buffer, bytes: number): void {
    const track = this.tracks.at(-1)
    if (id === ID.block || id === ID.simpleBlock) this.takeBlock(value, bytes)
    else if (id === ID.time) this.cluster = unsigned(value)
    else if (id === ID.timescale) this.tickSeconds = unsigned(value) / 1e9
    else if (id === ID.encodings) throw new NoSound('is a WebM file of packed or encrypted blocks')
    else if (!track) return
    else if (id === ID.number) track.number = unsigned(value)
    else if (id === ID.type) track.type = unsigned(value)
    else if (id === ID.codec) track.codec = value.toString('latin1').replace(/\0+$/, '')
    else track.settings = Buffer.from(value)
  }

  seconds(): number {
    const stated = this.last * this.tickSeconds
    const all = [...this.clocks.values()].map((clock) => clock.seconds(stated))
    const seconds = Math.max(0, ...all)
    if (seconds === 0) throw new NoSound('is a WebM file without sound')
    return seconds
  }

  /** A block: the number of its track, its time, and packets, of which several may share it. */
  private takeBlock(block: Buffer, bytes: number): void {
    const number = numberAt(block, 0, 8, false)
    if (!number || block.length < number.bytes + 3) return
    const clock = this.clockOf(number.value)
    if (!clock) return
    this.last = Math.max(this.last, this.cluster + block.readInt16BE(number.bytes))
    const from = number.bytes + 3
    for (const [place, length] of packetsOf(block, from, bytes)) {
      const isThere = length === 0 || place + 2 <= block.length
      clock.take(isThere ? block.subarray(place, Math.min(place + length, place + 2)) : LONGEST, length)
    }
  }

  private clockOf(number: number): PacketClock | null {
    const known = this.clocks.get(number)
    if (known) return known
    const track = this.tracks.find((one) => one.number === number)
    if (track?.type !== SOUND_TRACK) return null
    const clock = clockFor(track)
    this.clocks.set(number, clock)
    return clock
  }
}

/** A packet of Opus as long as they can be, 120 ms; one of sound in Vorbis. */
const LONGEST = Buffer.from([0x1a, 0])

/**
 * The packets of a block: where each begins, and how long it is. Several share a block as RFC 9559, 10.3, has it.
 * @param from where they begin, behind the flags. @param bytes the length of the block
 */
function packetsOf(block: Buffer, from: number, bytes: number): [place: number, length: number][] {
  const lacing = block[from - 1]! & 6
  if (lacing === 0) return [[from, bytes - from]]
  const count = (block[from] ?? 0) + 1
  let place = from + 1
  const lengths: number[] = []
  while (lacing !== FIXED && lengths.length < count - 1) {
    const length = lacing === XIPH ? xiphAt(block, place) : numberAt(block, place, 8, false)
    // A lace that cannot be read: its packets are taken to be as long as they can be.
    if (!length) return Array.from({ length: count }, () => [block.length, (bytes - from) / count])
    // Of EBML's all but the first are differences, from the middle of what so many bytes can say.
    const before = lacing === EBML ? lengths.at(-1) : undefined
    lengths.push(length.value + (before === undefined ? 0 : before - (2 ** (7 * length.bytes - 1) - 1)))
    place += length.bytes
  }
  const rest = bytes - place
  while (lengths.length < count)
    lengths.push(Math.max(0, lacing === FIXED ? rest / count : rest - lengths.reduce((sum, one) => sum + one, 0)))
  return lengths.map((length) => {
    const begins = place
    place += Math.max(0, length)
    return [Math.floor(begins), Math.max(0, length)]
  })
}

const [XIPH, FIXED, EBML] = [2, 4, 6]

/** A length in a lace of Xiph: bytes up to the first that is not 255. */
function xiphAt(bytes: Buffer, place: number): { value: number; bytes: number } | null {
  let at = place
  while (bytes[at] === 255) at++
  return at >= bytes.length ? null : { value: (at - place) * 255 + bytes[at]!, bytes: at - place + 1 }
}

function clockFor({ codec, settings }: Track): PacketClock {
  if (codec === 'A_OPUS') return opusClock()
  if (codec !== 'A_VORBIS') throw new NoSound('is a WebM file of a coding that is not taken: send Opus or Vorbis')
  // Three packets in a lace of Xiph: their number less one, the lengths of the first two, then they themselves.
  const identification = settings.indexOf('\x01vorbis', 0, 'latin1')
  if (identification < 0) throw new NoSound('has a broken head of Vorbis')
  return vorbisClock(settings.subarray(identification))
}

const unsigned = (value: Buffer): number => {
  let sum = 0
  for (const byte of value.subarray(0, 8)) sum = sum * 256 + byte
  return sum
}
