import { readFileSync } from 'node:fs'
import { measureSound } from '../../../src/shared/sound/measure.ts'
import { NoSound } from '../../../src/shared/sound/reader.ts'
import type { Sound, SoundKind, SoundSource } from '../../../src/shared/sound/reader.ts'

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

/** A WAV file of silence, 8,000 samples of 16 bits a second. */
export function silence(seconds: number): Buffer {
  const data = Buffer.alloc(seconds * 16_000)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}
