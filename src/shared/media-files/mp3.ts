/**
 * MP3: its frames, from the first byte behind all tags on. The number of frames that some encoders state at the
 * beginning is not trusted.
 */
import { refuseDisguised } from './disguises.ts'
import { frameAt } from './mp3-frames.ts'
import type { SoundReader } from './reader.ts'
import { NoSound, secondsAt } from './reader.ts'

/** The highest bit rate of any frame. */
const MOST_BITS = 448_000

/** No frame and the head of the next are longer, in bytes. */
const AHEAD_BYTES = 4096

/** The least share of a file that has to be frames: else it is something else, with some frames in it. */
const LEAST_FRAMED = 0.5

/** Frames that follow each other at the beginning: decoders require this many before they take a file for MP3. */
const LEAST_FRAMES = 7

/**
 * The seconds of an MP3 file. @param from where its audio begins, behind any tags
 * @throws NoSound if there is no chain of frames
 */
export function mp3Seconds(file: SoundReader, from: number): number {
  if (!beginsWithFrames(file, from)) throw new NoSound('has no sound of a kind that is taken')
  refuseDisguised(file, from)
  const until = beforeTags(file)
  let seconds = 0
  let framed = 0
  file.walk({ from, until, ahead: AHEAD_BYTES }, (bytes, at) => {
    // Decoders take each frame, no matter what is between two of them.
    const frame = frameAt(bytes, at)
    if (frame) {
      seconds += frame.seconds
      framed += frame.bytes
      return frame.bytes
    }
    const next = bytes.indexOf(0xff, at + 1)
    return (next < 0 ? bytes.length : next) - at
  })
  if (framed < LEAST_FRAMED * (until - from)) throw new NoSound('has no sound of a kind that is taken')
  return Math.max(seconds, secondsAt(until - from, MOST_BITS))
}

function beginsWithFrames(file: SoundReader, from: number): boolean {
  const head = file.at(from, LEAST_FRAMES * AHEAD_BYTES)
  let at = 0
  for (let frames = 0; frames < LEAST_FRAMES; frames++) {
    const frame = frameAt(head, at)
    if (!frame) return false
    at += frame.bytes
  }
  return true
}

/** The position before a tag of ID3v1. */
function beforeTags(file: SoundReader): number {
  if (file.bytes < 128) return file.bytes
  const tail = file.at(file.bytes - 128, 3)
  return tail.toString('latin1') === 'TAG' ? file.bytes - 128 : file.bytes
}
