import { boxHead, isLongHead } from '../../../shared/media-files/boxes.ts'
import type { Format } from './reading.ts'
import { broken, pass, take, takeOrEnd } from './reading.ts'

/** A box's name and how many bytes of it are still to come; `Infinity` for one that reaches to the end of the file. */
type Box = { type: string; rest: number; bytes: number }

function* boxOf(head: Buffer): Format<Box> {
  const { type, bytes, headBytes } = boxHead(isLongHead(head) ? Buffer.concat([head, yield* take(8)]) : head)
  if (!/^[\x20-\x7e\xa9]{4}$/.test(type)) throw broken('a box has no name')
  if (bytes === 0 && headBytes === 8) return { type, rest: Infinity, bytes: Infinity }
  const rest = bytes - headBytes
  if (rest < 0 || !Number.isSafeInteger(bytes)) throw broken('a box has a wrong length')
  return { type, rest, bytes }
}

/** The boxes on the way from the movie to a track's kind: what each contains of them. */
const CONTAINS: Record<string, string> = { moov: 'trak', trak: 'mdia', mdia: 'hdlr' }

/**
 * Walks the boxes inside a container, which must fill it exactly; returns whether a video track is declared among
 * them. It goes no deeper than the three containers, so that nested boxes cannot exhaust the stack.
 */
function* hasVideoTrack(container: string, bytes: number): Format<boolean> {
  let found = false
  let left = bytes
  while (left > 0) {
    if (left < 8) throw broken('its boxes do not add up')
    const box = yield* boxOf(yield* take(8))
    left -= box.bytes
    if (left < 0) throw broken('its boxes do not add up')
    if (box.type !== CONTAINS[container]) yield* pass(box.rest)
    else if (box.type === 'hdlr') found = (yield* isVideoHandler(box.rest)) || found
    else found = (yield* hasVideoTrack(box.type, box.rest)) || found
  }
  return found
}

function* isVideoHandler(bytes: number): Format<boolean> {
  if (bytes < 12) throw broken('a handler is too short')
  const kind = (yield* take(12)).toString('latin1', 8)
  yield* pass(bytes - 12)
  return kind === 'vide'
}

/**
 * MP4 and QuickTime: boxes from the first byte to the last, a movie (`moov`) that declares a video track, and media
 * data (`mdat`). A file that was cut off ends inside a box.
 */
export function* mp4(): Format {
  let video = false
  let data = false
  for (;;) {
    const head = yield* takeOrEnd(8)
    if (!head) break
    const box = yield* boxOf(head)
    if (box.type === 'moov' && box.rest !== Infinity) video = (yield* hasVideoTrack('moov', box.rest)) || video
    else yield* pass(box.rest)
    data ||= box.type === 'mdat' && box.rest > 0
  }
  if (!video) throw broken('it has no video track')
  if (!data) throw broken('it has no media data')
}
