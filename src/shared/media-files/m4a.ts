/**
 * M4A (ISO base media files) with AAC or ALAC: the number of samples of its sound, whole or in fragments, by what one
 * of them lasts. The length that its heads state counts only where it is more.
 */
import { boxHead } from './boxes.ts'
import type { SoundReader } from './reader.ts'
import { NoSound, secondsAt } from './reader.ts'

/** Boxes and tracks of one file, and the longest table that is read of one, in bytes. */
const MAX = { boxes: 100_000, tracks: 64, bytes: 8_000_000, depth: 8 }

/** The most that a sample of AAC has for each channel, in bytes (ISO 14496-3, 4.5.3). */
const AAC_BYTES = 768

/** Channels of AAC by their configuration (ISO 14496-3, 1.6.3.5); of others, as many as there can be. */
const AAC_CHANNELS = [8, 1, 2, 3, 4, 5, 6]

/** The highest bit rate that is plausible: of AAC with many channels, of ALAC in stereo. */
const MOST_BITS = { mp4a: 1_536_000, alac: 9_216_000 }

/** How much of a sample the last one may lack: of ALAC it is as long as is stated, of which half is believed. */
const LAST_SHORTER = { mp4a: 0, alac: 0.5 }

/** Boxes that have others in them. */
const PARENTS = new Set(
  'moov trak mdia minf stbl moof traf edts udta dinf clip mvex tref matd wave sinf schi'.split(' '),
)

/** Boxes that hide what is in them, or are another writing of a table that is read. */
const REFUSED = new Set(['cmov', 'stz2'])

/** Rates of AAC by their index (ISO 14496-3). */
const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]

type Track = {
  isSound: boolean
  timescale: number
  coding: keyof typeof MOST_BITS | null
  sampleSeconds: number
  sampleBytes: number
  largest: number
  samples: number
  stated: number
  bytes: number
}

const noTrack = (): Track => ({
  isSound: false,
  timescale: 0,
  coding: null,
  sampleSeconds: 0,
  sampleBytes: Infinity,
  largest: 0,
  samples: 0,
  stated: 0,
  bytes: 0,
})

/** The seconds of an M4A file. @throws NoSound */
export function m4aSeconds(file: SoundReader): number {
  const walk = new Walk(file)
  walk.within(0, file.bytes, 0)
  const sound = walk.tracks.filter(({ isSound }) => isSound)
  if (sound.length === 0) throw new NoSound('is an MP4 file without sound')
  if (sound.some(({ coding }) => coding === null))
    throw new NoSound('is an MP4 file of a coding that is not taken: send AAC or ALAC')
  const seconds = Math.max(0, ...sound.map((track) => secondsOf(track, walk.fragmentSamples, walk.dataBytes)))
  if (!(seconds > 0)) throw new NoSound('is an MP4 file without sound')
  return seconds
}

function secondsOf(track: Track, fragmentSamples: number, dataBytes: number): number {
  const { timescale, coding, sampleSeconds, sampleBytes, largest, samples, stated, bytes } = track
  // Decoders go on in a sample that has more than one frame in it.
  if (largest > sampleBytes) throw new NoSound('is an MP4 file with samples that are too long')
  return Math.max(
    timescale > 0 ? stated / timescale : 0,
    (samples + fragmentSamples - LAST_SHORTER[coding!]) * sampleSeconds,
    secondsAt(fragmentSamples > 0 ? dataBytes : Math.min(bytes, dataBytes), MOST_BITS[coding!]),
  )
}

class Walk {
  readonly tracks: Track[] = []
  fragmentSamples = 0
  dataBytes = 0
  private boxes = 0
  private readonly file: SoundReader

  constructor(file: SoundReader) {
    this.file = file
  }

  /** Goes through the boxes between two places. */
  within(from: number, until: number, depth: number): void {
    for (let place = from; place + 8 <= until;) {
      if (++this.boxes > MAX.boxes) throw new NoSound('has too many boxes')
      const head = this.file.at(place, 16)
      if (head.length < 8) return
      const { type, bytes, headBytes } = boxHead(head)
      const end = bytes === 0 ? until : Math.min(place + bytes, until)
      if (end < place + headBytes) return
      if (type === 'trak') this.addTrack()
      if (type === 'mdat') this.dataBytes += end - place - headBytes
      else if (REFUSED.has(type)) throw new NoSound(`is an MP4 file with a box that is not taken: ${type}`)
      else if (PARENTS.has(type)) {
        if (depth === MAX.depth) throw new NoSound('has boxes too deep in each other')
        this.within(place + headBytes, end, depth + 1)
      } else this.read(type, place + headBytes, end)
      place = end
    }
  }

  private addTrack(): void {
    if (this.tracks.length === MAX.tracks) throw new NoSound('has too many tracks')
    this.tracks.push(noTrack())
  }

  private read(type: string, from: number, end: number): void {
    const readBox = READERS[type]
    if (!readBox) return
    const box = this.file.at(from, Math.min(end - from, MAX.bytes))
    if (type === 'trun') this.fragmentSamples += box.length >= 8 ? box.readUInt32BE(4) : 0
    else readBox(box, this.tracks.at(-1) ?? noTrack())
  }
}

/** How the boxes of a track are read. Of a table only the entries that are there count. */
const READERS: Record<string, (box: Buffer, track: Track) => void> = {
  trun: () => {},
  hdlr: (box, track) => {
    if (box.toString('latin1', 8, 12) === 'soun') track.isSound = true
  },
  mdhd: (box, track) => {
    const place = box[0] === 1 ? 20 : 12
    if (box.length >= place + 4) track.timescale = box.readUInt32BE(place)
  },
  elst: (box) => {
    const [size, wide] = box[0] === 1 ? [20, true] : [12, false]
    let edits = 0
    for (const place of entriesOf(box, 4, 8, size))
      if ((wide ? box.readInt32BE(place + 8) : box.readInt32BE(place + 4)) >= 0) edits++
    // Each may play all of it once more.
    if (edits > 1) throw new NoSound('is an MP4 file with several edits: export it again')
  },
  stts: (box, track) => {
    for (const place of entriesOf(box, 4, 8, 8)) track.stated += box.readUInt32BE(place) * box.readUInt32BE(place + 4)
  },
  stsz: (box, track) => {
    if (box.length < 12) return
    const [each, count] = [box.readUInt32BE(4), box.readUInt32BE(8)]
    track.samples = count
    track.bytes = each * count
    track.largest = each
    if (each > 0) return
    for (const place of entriesOf(box, 8, 12, 4)) {
      const bytes = box.readUInt32BE(place)
      track.bytes += bytes
      track.largest = Math.max(track.largest, bytes)
    }
  },
  stsd: (box, track) => {
    const coding = box.toString('latin1', 12, 16)
    // Of several descriptions each could be that of most samples.
    if (box.length < 16 || box.readUInt32BE(4) !== 1 || (coding !== 'mp4a' && coding !== 'alac')) return
    track.coding = coding
    if (coding === 'alac') track.sampleSeconds = Math.max(track.sampleSeconds, alacSeconds(box))
    else takeAac(box, track)
  },
}

function* entriesOf(box: Buffer, countAt: number, from: number, size: number): Generator<number> {
  if (box.length < from) return
  const count = Math.min(box.readUInt32BE(countAt), Math.floor((box.length - from) / size))
  for (let entry = 0; entry < count; entry++) yield from + entry * size
}

/** What a sample lasts at the most if its description does not state it in the usual way. */
const SLOWEST = 1024 / 8000

/** Kinds of AAC (ISO 14496-3) whose samples are 1,024 at the stated rate, or fewer: Main, LC, SSR, LTP, SBR, PS. */
const PLAIN_AAC = new Set([1, 2, 3, 4, 5, 29])

/**
 * What a sample of AAC lasts: 1,024 at the rate that its decoder is set to, which its own description states (`esds`,
 * ISO 14496-1). @throws NoSound for another coding in it: the same box names MP3 and more
 */
function takeAac(box: Buffer, track: Track): void {
  const settings = aacSettings(box)
  const isPlain = settings !== null && PLAIN_AAC.has(settings >> 11)
  const seconds = isPlain ? 1024 / (AAC_RATES[(settings >> 7) & 15] ?? 8000) : SLOWEST
  const channels = (isPlain && AAC_CHANNELS[(settings >> 3) & 15]) || 8
  track.sampleSeconds = Math.max(track.sampleSeconds, seconds)
  track.sampleBytes = AAC_BYTES * channels
}

/** The first two bytes by which its decoder is set; null if the box has none. @throws NoSound */
function aacSettings(box: Buffer): number | null {
  const esds = box.indexOf('esds')
  if (esds < 0) return null
  const stream = descriptorAt(box, esds + 8, 3)
  const flags = box[stream + 2] ?? 0
  if (flags & 0xe0) throw brokenHead()
  const decoder = descriptorAt(box, stream + 3, 4)
  const coding = box[decoder]
  if (coding !== 0x40 && (coding! < 0x66 || coding! > 0x68))
    throw new NoSound('is an MP4 file of a coding that is not taken: send AAC or ALAC')
  const place = descriptorAt(box, decoder + 13, 5)
  return ((box[place] ?? 0) << 8) | (box[place + 1] ?? 0)
}

/** Where the content of the descriptor at a place begins. @throws NoSound if it has another tag */
function descriptorAt(box: Buffer, place: number, tag: number): number {
  if (box[place] !== tag) throw brokenHead()
  let at = place + 1
  while ((box[at] ?? 0) & 0x80 && at < place + 4) at++
  return at + 1
}

const brokenHead = (): NoSound => new NoSound('is an MP4 file with a broken head')

function alacSeconds(box: Buffer): number {
  const settings = box.indexOf('alac', 16)
  if (settings < 0 || box.length < settings + 32) throw brokenHead()
  const [samples, rate] = [box.readUInt32BE(settings + 8), box.readUInt32BE(settings + 28)]
  if (rate < 4000 || rate > 384_000 || samples < 1 || samples > 16_384) throw brokenHead()
  return samples / rate
}
