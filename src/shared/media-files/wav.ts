/**
 * WAV (RIFF): samples of one size, so that their length in bytes is their duration. The stated lengths are not trusted.
 */
import { refuseDisguised, refuseStreamInSamples } from './disguises.ts'
import type { SoundReader } from './reader.ts'
import { NoSound } from './reader.ts'

/** The codings whose samples have one size: PCM, floating point, A-law, µ-law. */
const PLAIN = new Set([1, 3, 6, 7])
const EXTENSIBLE = 0xfffe

/** A-law and µ-law: a byte a sample, even if their head states another size. */
const BYTES = new Set([6, 7])

/** Chunks of one file. */
const MAX_CHUNKS = 10_000

/** The seconds of a WAV file. @throws NoSound */
export function wavSeconds(file: SoundReader): number {
  refuseDisguised(file, 0)
  if (isDictation(file.at(0, 512))) throw new NoSound('is a recording of a dictation machine: send PCM')
  let bytesPerSecond = 0
  let dataBytes = 0
  let place = 12
  for (let chunks = 0; place + 8 <= file.bytes; chunks++) {
    if (chunks === MAX_CHUNKS) throw new NoSound('has too many chunks')
    const head = file.at(place, 8)
    const stated = head.readUInt32LE(4)
    const id = head.toString('latin1', 0, 4)
    const left = file.bytes - place - 8
    if (id === 'fmt ') {
      const rate = rateOf(file.at(place + 8, Math.min(left, 40)))
      // Decoders go by the first or by the last: what lasts longer is charged.
      bytesPerSecond = bytesPerSecond === 0 ? rate : Math.min(bytesPerSecond, rate)
    }
    // Writers that do not know the length before state none, or the largest.
    const length = id === 'data' && (stated === 0 || stated > left) ? left : stated
    if (id === 'data') {
      dataBytes += length
      refuseStreamInSamples(file, place + 8)
    }
    place += 8 + length + (length % 2)
  }
  if (bytesPerSecond === 0 || dataBytes === 0) throw new NoSound('is a WAV file without sound')
  return dataBytes / bytesPerSecond
}

/** ACT: G.729 behind the head of a WAV file, which states another coding. Its head is all zeros but one byte. */
const isDictation = (head: Buffer): boolean =>
  head[256] === 0x84 &&
  head.subarray(44, 256).every((byte) => byte === 0) &&
  head.subarray(264).every((byte) => byte === 0)

function rateOf(format: Buffer): number {
  if (format.length < 16) throw new NoSound('is a WAV file with a broken head')
  const stated = format.readUInt16LE(0)
  const coding = stated === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : stated
  const channels = format.readUInt16LE(2)
  const rate = format.readUInt32LE(4)
  const bits = format.readUInt16LE(14)
  if (!PLAIN.has(coding)) throw new NoSound('is a WAV file of a coding that is not taken: send PCM')
  if (channels < 1 || channels > 8 || rate < 4000 || rate > 192_000 || bits < 8 || bits > 64)
    throw new NoSound('is a WAV file with a broken head')
  return rate * channels * (BYTES.has(coding) ? 1 : Math.ceil(bits / 8))
}
