import { readFileSync } from 'node:fs'
import { oggChecksum } from '../../../src/shared/media-files/ogg.ts'
import { measureSound } from '../../../src/shared/media-files/measure.ts'
import { NoSound } from '../../../src/shared/media-files/reader.ts'
import type { Sound, SoundKind, SoundSource } from '../../../src/shared/media-files/reader.ts'

/** Recordings of 3.3 s of a tone, as ffmpeg writes them. Encoders of AAC and Vorbis add some silence. */
export const RECORDINGS: readonly [file: string, kind: SoundKind][] = [
  ['s.wav', 'wav'],
  ['s.mp3', 'mp3'],
  ['s.flac', 'flac'],
  ['opus.ogg', 'ogg'],
  ['vorbis.ogg', 'ogg'],
  ['aac.m4a', 'm4a'],
  ['alac.m4a', 'm4a'],
  ['fragmented.m4a', 'm4a'],
  ['opus.webm', 'webm'],
  ['vorbis.webm', 'webm'],
]

/** How long they are, in seconds. */
export const LENGTH = 3.3

export const recording = (file: string): Buffer => readFileSync(new URL(`fixtures/${file}`, import.meta.url))

export const sourceOf = (bytes: Buffer): SoundSource => ({
  bytes: bytes.length,
  read: (from, length) => bytes.subarray(from, from + length),
})

export const measured = (bytes: Buffer): Sound => measureSound(sourceOf(bytes))

/** What was measured, or why it could not be. */
export function outcome(bytes: Buffer): Sound | NoSound {
  try {
    return measured(bytes)
  } catch (error) {
    if (error instanceof NoSound) return error
    throw error
  }
}

/** A WAV file of these samples of 16 bits. */
export function wavOf(data: Buffer, rate: number, channels: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * channels * 2, 28)
  head.writeUInt16LE(channels * 2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}

/** A WAV file of silence, 8,000 samples of 16 bits a second. */
export const silence = (seconds: number): Buffer => wavOf(Buffer.alloc(seconds * 16_000), 8000, 1)

/** A page of Ogg with the right checksum. */
export function oggPage(serial: number, flags: number, lengths: Buffer, body: Buffer): Buffer {
  const head = Buffer.alloc(27)
  head.write('OggS')
  head[5] = flags
  head.writeUInt32LE(serial, 14)
  head[26] = lengths.length
  const page = Buffer.concat([head, lengths, body])
  page.writeUInt32LE(oggChecksum(page), 22)
  return page
}

/** An Ogg file all of whose pages state this position, with the right checksums. */
export function atPosition(ogg: Buffer, position: bigint): Buffer {
  for (let place = ogg.indexOf('OggS'); place >= 0; place = ogg.indexOf('OggS', place + 4)) {
    ogg.writeBigInt64LE(position, place + 6)
    const until = ogg.indexOf('OggS', place + 4)
    ogg.writeUInt32LE(oggChecksum(ogg.subarray(place, until < 0 ? ogg.length : until)), place + 22)
  }
  return ogg
}
