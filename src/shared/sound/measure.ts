/**
 * How long a file of sound lasts, as a decoder hears it: by walking all of its frames, and never by what a head states.
 * What it is, its first bytes say, and neither its name nor the type that its client gives it.
 */
import { flacSeconds } from './flac.ts'
import { m4aSeconds } from './m4a.ts'
import { mp3Seconds } from './mp3.ts'
import { oggSeconds } from './ogg.ts'
import type { Sound, SoundKind, SoundSource } from './reader.ts'
import { NoSound, SOUND_KINDS, SoundReader } from './reader.ts'
import { wavSeconds } from './wav.ts'
import { webmSeconds } from './webm.ts'

const WALKS: Record<SoundKind, (file: SoundReader) => Promise<number>> = {
  wav: wavSeconds,
  mp3: mp3Seconds,
  ogg: oggSeconds,
  flac: flacSeconds,
  m4a: m4aSeconds,
  webm: webmSeconds,
}

/**
 * Walks a file. Seconds are above 0, and may have a fraction.
 * @throws NoSound where it is no sound of a kind that is taken, with a message that can follow its name
 */
export async function measureSound(source: SoundSource): Promise<Sound> {
  const file = new SoundReader(source)
  const kind = kindOf(await file.at(0, 12))
  if (!kind) throw new NoSound(`must be ${KINDS}`)
  const seconds = await WALKS[kind](file)
  if (!Number.isFinite(seconds) || seconds <= 0) throw new NoSound('has no sound')
  return { seconds, kind }
}

const KINDS = new Intl.ListFormat('en', { type: 'disjunction' }).format(
  Object.values(SOUND_KINDS).map(({ name }) => name),
)

function kindOf(head: Buffer): SoundKind | null {
  const text = head.toString('latin1')
  if (text.startsWith('RIFF') && text.startsWith('WAVE', 8)) return 'wav'
  if (text.startsWith('fLaC')) return 'flac'
  if (text.startsWith('OggS')) return 'ogg'
  if (text.startsWith('ftyp', 4)) return 'm4a'
  if (text.startsWith('\x1a\x45\xdf\xa3')) return 'webm'
  const isMp3 = text.startsWith('ID3') || (head[0] === 0xff && ((head[1] ?? 0) & 0xe6) > 0xe0)
  return isMp3 ? 'mp3' : null
}
