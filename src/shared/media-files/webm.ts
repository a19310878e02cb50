/**
 * WebM (Matroska) with Opus or Vorbis: all packets of its sound. Neither the length that its head states
 * nor the times of its blocks are read.
 */
import type { EbmlNumber } from './ebml.ts'
import { ID, lengthAt, numberAt } from './ebml.ts'
import type { PacketClock } from './packets.ts'
import { HEAD_BYTES, opusClock, vorbisClock } from './packets.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'

/** What every cluster begins with. */
const CLUSTER = Buffer.from([0x1f, 0x43, 0xb6, 0x75])

/** Elements that have others in them. They are entered even if they state no length: a recorder knows none. */
const PARENTS = new Set<number>([ID.segment, ID.info, ID.tracks, ID.track, ID.cluster, ID.group])

/** Elements of one file. */
const MAX_ELEMENTS = 2_000_000

/** Elements around another. */
const MAX_DEPTH = 8

/** Tracks of one file. */
const MAX_TRACKS = 64

/** Packets of one file: of 2.5 ms, the shortest that there are, those of 4 hours. */
const MAX_PACKETS = 5_760_000

/** The longest head of a file, in bytes. */
const MAX_HEAD = 1024

/** What is read of a block, and of the settings of a codec, in bytes. */
const [MAX_BLOCK, MAX_SETTINGS] = [65_536, 131_072]

const SOUND_TRACK = 2

/** The seconds of a WebM file. @throws NoSound */
export function webmSeconds(file: SoundReader): number {
  const walk = new Walk()
  // Where the elements end that contain what is read now: each at most where the one around it does.
  let ends: number[] = []
  let place = afterHead(file)
  const nextCluster = clusterFinder(file)
  for (let elements = 0; place >= 0 && place < file.bytes; elements++) {
    if (elements > MAX_ELEMENTS) throw new NoSound('has too many elements')
    while (ends.length > 0 && ends.at(-1)! <= place) ends.pop()
    const at = file.seek(place, 12)
    const id = numberAt(file.window, at, 4, true)
    const length = id && lengthAt(file.window, at + id.bytes)
    if (!id || !length) {
      place = file.find(CLUSTER, place + 1)
      continue
    }
    const from = place + id.bytes + length.bytes
    if (id.value === ID.cluster) ends = []
    const end = Math.min(from + length.value, ends.at(-1) ?? file.bytes)
    if (PARENTS.has(id.value)) {
      if (ends.length === MAX_DEPTH) throw new NoSound('has elements too deep in each other')
      walk.begin(id.value)
      ends.push(end)
      place = from
      continue
    }
    const isWhole = from + length.value <= end
    const isBlock = walk.take(id.value, file, from, Math.min(length.value, file.bytes - from), isWhole)
    // Decoders search what they cannot read for the next cluster, from behind its head.
    if (isWhole && !isBlock && nextCluster(from) < end) throw new NoSound('has clusters inside other elements')
    place = isWhole ? end : file.find(CLUSTER, from)
  }
  return walk.seconds()
}

/** Finds the next mark of a cluster from places that only increase; Infinity if there is none. */
function clusterFinder(file: SoundReader): (from: number) => number {
  let next = -1
  return (from) => {
    if (next < from) next = file.find(CLUSTER, from)
    if (next < 0) next = Infinity
    return next
  }
}

/**
 * The position behind the head of the file. Decoders that do not find a known type in a short head search for another
 * format. @throws NoSound
 */
function afterHead(file: SoundReader): number {
  const length = lengthAt(file.at(4, 8), 0)
  const text = length && length.value <= MAX_HEAD ? file.at(4 + length.bytes, length.value).toString('latin1') : ''
  if (!/\x42\x82[\x84-\x88](webm|matroska)/.test(text)) throw new NoSound('is a WebM file with a broken head')
  return 4 + length!.bytes + length!.value
}

/** `isLate`: declared behind the first cluster, where not every decoder reads it. */
type Track = { type: number; codec: string; settings: Buffer; clock: PacketClock | null; isLate: boolean }

/** What was found so far. */
class Walk {
  private tracks = 0
  private track: Track | null = null
  private readonly byNumber = new Map<number, Track>()
  private packets = 0
  private hasClusters = false

  begin(id: number): void {
    this.hasClusters ||= id === ID.cluster
    if (id !== ID.track) return
    if (++this.tracks > MAX_TRACKS) throw new NoSound('has too many tracks')
    this.track = { type: 0, codec: '', settings: Buffer.alloc(0), clock: null, isLate: this.hasClusters }
  }

  /**
   * An element that contains no others, its length, and whether it ends before what is around it does.
   * @returns whether it is a block that every decoder takes as one
   */
  take(id: number, file: SoundReader, from: number, bytes: number, isWhole: boolean): boolean {
    if (id === ID.block || id === ID.simpleBlock) return this.takeBlock(file, from, bytes)
    this.takeOther(id, file, from, bytes, isWhole)
    return false
  }

  private takeOther(id: number, file: SoundReader, from: number, bytes: number, isWhole: boolean): void {
    const { track } = this
    if (id === ID.encodings) throw new NoSound('is a WebM file of packed or encrypted blocks')
    else if (!track || !isWhole) return
    // Decoders go by the first track of a number.
    else if (id === ID.number) this.addNumber(unsigned(file.at(from, Math.min(bytes, 8))), track)
    else if (id === ID.type) track.type = unsigned(file.at(from, Math.min(bytes, 8)))
    else if (id === ID.codec) track.codec = file.at(from, Math.min(bytes, 32)).toString('latin1').replace(/\0+$/, '')
    else if (id === ID.settings) track.settings = Buffer.from(file.at(from, Math.min(bytes, MAX_SETTINGS)))
  }

  seconds(): number {
    const seconds = [...this.byNumber.values()].reduce((most, { clock }) => Math.max(most, clock?.seconds() ?? 0), 0)
    if (seconds === 0) throw new NoSound('is a WebM file without sound')
    return seconds
  }

  private addNumber(number: number, track: Track): void {
    if (this.byNumber.has(number)) return
    if (this.byNumber.size === MAX_TRACKS) throw new NoSound('has too many tracks')
    this.byNumber.set(number, track)
  }

  /** A block: the number of its track, its time, and packets, of which several may share it. @returns as `take` */
  private takeBlock(file: SoundReader, from: number, bytes: number): boolean {
    const at = file.seek(from, 12 + HEAD_BYTES)
    const number = numberAt(file.window, at, 8, false)
    if (!number || bytes < number.bytes + 3) return false
    const track = this.byNumber.get(number.value)
    if (track?.type !== SOUND_TRACK) return false
    track.clock ??= clockFor(track)
    const head = number.bytes + 3
    const isLaced = (file.window[at + head - 1]! & LACING) !== 0
    if (isLaced) this.packets += takeLace(file.at(from, Math.min(bytes, MAX_BLOCK)), head, bytes, track.clock)
    else track.clock.take(file.window, at + head, bytes - head)
    if (this.packets > MAX_PACKETS) throw new NoSound('has too many packets')
    return !isLaced && !track.isLate
  }
}

/**
 * Has a clock take the packets that share a block (RFC 9559, 10.3).
 * @param from where they begin, behind the flags. @param bytes the length of the block. @returns how many they are
 */
function takeLace(block: Buffer, from: number, bytes: number, clock: PacketClock): number {
  const { lengths, from: first } = laceAt(block, from, bytes)
  let place = first
  for (const length of lengths) {
    const isPresent = place + Math.min(length, HEAD_BYTES) <= block.length
    clock.take(isPresent ? block : null, Math.floor(place), length)
    place += length
  }
  return lengths.length
}

/** Where the packets of a lace begin, and how long each is. */
function laceAt(block: Buffer, from: number, bytes: number): { from: number; lengths: number[] } {
  const lacing = block[from - 1]! & LACING
  const count = (block[from] ?? 0) + 1
  let place = from + 1
  const lengths: number[] = []
  let sum = 0
  while (lacing !== FIXED && lengths.length < count - 1) {
    const length = lacing === XIPH ? xiphAt(block, place) : numberAt(block, place, 8, false)
    // A lace that cannot be read: its packets are taken to be as long as they can be.
    if (!length) return { from: block.length, lengths: Array.from({ length: count }, () => (bytes - from) / count) }
    // Of EBML's all but the first are differences, from the middle of what their bytes can express.
    const before = lacing === EBML ? lengths.at(-1) : undefined
    const stated = length.value + (before === undefined ? 0 : before - (2 ** (7 * length.bytes - 1) - 1))
    lengths.push(Math.max(0, stated))
    sum += lengths.at(-1)!
    place += length.bytes
  }
  while (lengths.length < count) lengths.push(Math.max(0, (bytes - place - sum) / (lacing === FIXED ? count : 1)))
  return { from: place, lengths }
}

/** How packets share a block, by these bits of its flags. */
const [LACING, XIPH, FIXED, EBML] = [6, 2, 4, 6]

/** A length in a lace of Xiph: bytes up to the first that is not 255. */
function xiphAt(bytes: Buffer, place: number): EbmlNumber | null {
  let at = place
  while (bytes[at] === 255) at++
  return at >= bytes.length ? null : { value: (at - place) * 255 + bytes[at]!, bytes: at - place + 1 }
}

function clockFor({ codec, settings }: Track): PacketClock {
  if (codec === 'A_OPUS') return opusClock()
  if (codec !== 'A_VORBIS') throw new NoSound('is a WebM file of a coding that is not taken: send Opus or Vorbis')
  // Three packets in a lace of Xiph: their number less one, the lengths of the first two, then they themselves.
  const first = xiphAt(settings, 1)
  const second = first && xiphAt(settings, 1 + first.bytes)
  if (settings[0] !== 2 || !second) throw new NoSound('has a broken head of Vorbis')
  const from = 1 + first.bytes + second.bytes
  return vorbisClock(settings.subarray(from, from + first.value), settings.subarray(from + first.value + second.value))
}

const unsigned = (value: Buffer): number => value.reduce((sum, byte) => sum * 256 + byte, 0)
