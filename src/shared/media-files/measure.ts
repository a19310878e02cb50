/**
 * How long an audio file lasts, as a decoder hears it: by all of its frames, and never by what a header states. Its
 * format is that of its first bytes, neither that of its name nor of the type that its client states.
 */
import { flacSeconds } from './flac.ts'
import { m4aSeconds } from './m4a.ts'
import { frameAt } from './mp3-frames.ts'
import { mp3Seconds } from './mp3.ts'
import { oggSeconds } from './ogg.ts'
import type { Sound, SoundKind, SoundSource } from './reader.ts'
import { NoSound, SOUND_KINDS, SoundReader } from './reader.ts'
import { wavSeconds } from './wav.ts'
import { webmSeconds } from './webm.ts'

const PARSERS: Record<SoundKind, (file: SoundReader, from: number) => number> = {
  wav: wavSeconds,
  mp3: mp3Seconds,
  ogg: oggSeconds,
  flac: flacSeconds,
  m4a: m4aSeconds,
  webm: webmSeconds,
}

/** Leading tags of one file. */
const MAX_TAGS = 64

/**
 * Measures a file, in time linear in its bytes and in constant memory. Seconds are above 0, and may have a fraction.
 * @throws NoSound if it is no audio of a format that is accepted, with a message that can follow its name
 */
export function measureSound(source: SoundSource): Sound {
  const file = new SoundReader(source)
  const from = afterTags(file)
  const kind = kindOf(file.at(from, 12))
  if (!kind) throw new NoSound(`must be ${KINDS}`)
  // Decoders search for the format behind a tag as well: only MP3, whose tag is cut off, may have one.
  if (from > 0 && kind !== 'mp3')
    throw new NoSound(`is ${SOUND_KINDS[kind].name} behind a tag: remove its ID3 or APE tag`)
  const seconds = PARSERS[kind](file, from)
  if (!Number.isFinite(seconds) || seconds <= 0) throw new NoSound('has no sound')
  return { seconds, kind, from }
}

const KINDS = new Intl.ListFormat('en', { type: 'disjunction' }).format(
  Object.values(SOUND_KINDS).map(({ name }) => name),
)

/** Accepts less than decoders do: if they are not sure, they search the file for another format. */
function kindOf(head: Buffer): SoundKind | null {
  const text = head.toString('latin1')
  if (text.startsWith('RIFF') && text.startsWith('WAVE', 8)) return 'wav'
  if (text.startsWith('fLaC')) return 'flac'
  if (text.startsWith('OggS\0') && head[5]! <= 7) return 'ogg'
  if (text.startsWith('ftyp', 4) && !/^j(p2 |px |xl )/.test(text.slice(8))) return 'm4a'
  if (text.startsWith('\x1a\x45\xdf\xa3')) return 'webm'
  return frameAt(head) ? 'mp3' : null
}

/** The position behind all leading tags of ID3v2, which may hold pictures, and of APE. */
function afterTags(file: SoundReader): number {
  let place = 0
  for (let tags = 0; ; tags++) {
    if (tags > MAX_TAGS) throw new NoSound('has too many tags')
    const bytes = tagBytes(file.at(place, 32))
    if (bytes === 0) return place
    place += bytes
  }
}

/** How long the tag is that these bytes begin; 0 if they begin none. */
function tagBytes(head: Buffer): number {
  const text = head.toString('latin1')
  if (text.startsWith('APETAGEX') && head.length === 32) return 32 + head.readUInt32LE(12)
  if (!text.startsWith('ID3') || head.length < 10) return 0
  const size = head.subarray(6, 10)
  if (head[3] === 0xff || head[4] === 0xff || size.some((byte) => byte > 127)) throw new NoSound('has a broken ID3 tag')
  const hasFooter = (head[5]! & 0x10) !== 0
  return size.reduce((sum, byte) => sum * 128 + byte, 0) + (hasFooter ? 20 : 10)
}
