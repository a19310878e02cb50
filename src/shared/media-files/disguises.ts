/**
 * Files that appear to be of one format and are decoded as another. Decoders take the format that fits the beginning of
 * a file best, and some formats may begin anywhere in it: a file that has the marks of one is refused.
 */
import { frameAt } from './mp3-frames.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'

/** How much of a file decoders read to find its format, in bytes. */
const PROBED = 65_536

/** Marks of formats that may begin anywhere, and how many of them decoders ask for. */
const MARKS: readonly [mark: Buffer, least: number][] = [
  // NUT, MXF and NSV.
  [Buffer.from('4e4d7a561f5f04ad', 'hex'), 1],
  [Buffer.from('060e2b34020501010d0102', 'hex'), 1],
  [Buffer.from('NSVs'), 1],
  // IEC 61937, in both orders of bytes, which carries AC-3, AAC and more in samples of PCM.
  [Buffer.from('72f81f4e', 'hex'), 3],
  [Buffer.from('f8724e1f', 'hex'), 3],
  // DTS, in words of 16 and of 14 bits, in both orders.
  [Buffer.from('7ffe8001', 'hex'), 4],
  [Buffer.from('fe7f0180', 'hex'), 4],
  [Buffer.from('1fffe800', 'hex'), 4],
  [Buffer.from('ff1f00e8', 'hex'), 4],
  // TrueHD and MLP.
  [Buffer.from('f8726fba', 'hex'), 3],
  [Buffer.from('f8726fbb', 'hex'), 3],
]

/** Frames in a row that are a stream; decoders ask for more of them where they are not at the beginning. */
const CHAIN = 8

/** Lengths of a packet of MPEG-TS, in bytes. */
const TS_PACKETS = [188, 192, 204]

/** What each packet of MPEG-TS begins with. */
const TS_SYNC = 0x47

/** Boxes of an MP4 file which may be its first, behind four bytes with its length. */
const FIRST_BOXES = new Set('ftyp moov mdat pnot udta ediw wide free junk pict skip uuid prfl'.split(' '))

/** @throws NoSound where decoders could take the bytes at a position for a format that may begin anywhere */
export function refuseDisguised(file: SoundReader, from: number): void {
  const head = file.at(from, PROBED)
  const isOther =
    FIRST_BOXES.has(head.toString('latin1', 4, 8)) ||
    MARKS.some(([mark, least]) => has(head, mark, least)) ||
    isTransportStream(head) ||
    isProgramStream(head) ||
    [adtsBytes, loasBytes, ac3Bytes].some((frameBytes) => hasChain(head, frameBytes))
  if (isOther) throw new NoSound('has the marks of another format in it')
}

/**
 * Decoders check whether samples of PCM are a stream of another coding.
 * @param from where the samples begin
 * @throws NoSound if they are
 */
export function refuseStreamInSamples(file: SoundReader, from: number): void {
  refuseDisguised(file, from)
  const data = file.at(from, PROBED)
  const first = data.findIndex((byte) => byte !== 0)
  const isStream =
    data.toString('latin1', 0, 3) === 'ID3' ||
    [adtsBytes, loasBytes, ac3Bytes].some((frameBytes) => follows(data, Math.max(0, first), frameBytes, 3)) ||
    hasChain(data, (bytes, place) => frameAt(bytes, place)?.bytes ?? 0)
  if (isStream) throw new NoSound('has the marks of another format in it')
}

/** Whether a mark occurs at least `least` times. */
function has(bytes: Buffer, mark: Buffer, least: number): boolean {
  let found = 0
  for (let at = bytes.indexOf(mark); at >= 0 && found < least; at = bytes.indexOf(mark, at + 1)) found++
  return found >= least
}

/** Whether `least` frames follow each other from a position on. */
function follows(
  bytes: Buffer,
  from: number,
  frameBytes: (bytes: Buffer, at: number) => number,
  least: number,
): boolean {
  let at = from
  for (let frames = 0; frames < least; frames++) {
    const length = frameBytes(bytes, at)
    if (length === 0) return false
    at += length
  }
  return true
}

/** Whether frames that follow each other begin anywhere: more than chance makes. */
function hasChain(bytes: Buffer, frameBytes: (bytes: Buffer, at: number) => number): boolean {
  for (let at = 0; at < bytes.length; at++) if (follows(bytes, at, frameBytes, CHAIN)) return true
  return false
}

/** The length of a frame of AAC in ADTS (ISO 14496-3, 1.A.2); 0 if none begins. */
function adtsBytes(bytes: Buffer, at: number): number {
  if (bytes.length < at + 7 || ((bytes[at]! << 8) | (bytes[at + 1]! & 0xf6)) !== 0xfff0) return 0
  return (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff
}

/** The length of a frame of AAC in LOAS (ISO 14496-3, 1.7.2); 0 if none begins. */
function loasBytes(bytes: Buffer, at: number): number {
  const isLoas = bytes.length >= at + 3 && bytes[at] === 0x56 && (bytes[at + 1]! & 0xe0) === 0xe0
  return isLoas ? 3 + (((bytes[at + 1]! & 0x1f) << 8) | bytes[at + 2]!) : 0
}

/** Half the words of 16 bits of a frame of AC-3, of 32 kHz, 48 kHz and 44.1 kHz: a kbit/s each. */
const AC3_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]

/** The length of a frame of AC-3 or E-AC-3 (ETSI TS 102 366), in either order of bytes; 0 if none begins. */
function ac3Bytes(bytes: Buffer, at: number): number {
  if (bytes.length < at + 6) return 0
  const word = bytes.readUInt16BE(at)
  if (word !== 0x0b77 && word !== 0x770b) return 0
  const byte = (place: number): number => bytes[at + (word === 0x0b77 ? place : place ^ 1)]!
  if (byte(5) >> 3 > 10) return 2 * ((((byte(2) & 7) << 8) | byte(3)) + 1)
  const [code, size] = [byte(4) >> 6, byte(4) & 63]
  const rate = AC3_RATES[size >> 1]
  if (code === 3 || rate === undefined) return 0
  return code === 0 ? 4 * rate : code === 2 ? 6 * rate : 2 * (Math.floor((rate * 320) / 147) + (size & 1))
}

/** Whether packets of MPEG-TS could be found in what decoders read first, in twice as much, and so on. */
const isTransportStream = (bytes: Buffer): boolean =>
  [2048, 4096, 8192, 16_384, 32_768].some((size) =>
    TS_PACKETS.some((length) => hasPackets(bytes.subarray(size > 16_384 ? 16_384 : 0, size), length)),
  )

/** Whether most packets have the byte that each begins with, wherever the first is, and other bytes seldom are that. */
function hasPackets(bytes: Buffer, length: number): boolean {
  const packets = Math.floor(bytes.length / length)
  if (packets < 10) return false
  const syncs = new Uint16Array(length)
  let all = 0
  for (let at = bytes.indexOf(TS_SYNC); at >= 0; at = bytes.indexOf(TS_SYNC, at + 1)) {
    syncs[at % length]!++
    all++
  }
  const most = syncs.reduce((one, other) => Math.max(one, other), 0)
  return most - Math.max(all - 10 * most, 0) / 10 > packets / 2
}

/** Whether there are as many start codes of packs and of packets with sound as MPEG-PS has. */
function isProgramStream(bytes: Buffer): boolean {
  let found = 0
  for (let at = bytes.indexOf('\0\0\x01', 0, 'latin1'); at >= 0; at = bytes.indexOf('\0\0\x01', at + 1, 'latin1')) {
    const code = bytes[at + 3] ?? 0
    if (code === 0xba || code === 0xbd || (code >= 0xc0 && code <= 0xdf)) found++
  }
  return found >= 3
}
