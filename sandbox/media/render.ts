import type { Steering } from '../steering.ts'
import { videoClip } from './clip.ts'
import type { MediaKind } from './kinds.ts'
import { drawBrokenPng, drawPng } from './png.ts'
import type { PixelSize } from './size.ts'

/** An image or a clip that is to be the result of a call. */
export interface Medium {
  readonly kind: MediaKind
  readonly size: PixelSize
  /** Decides the colours. Two results of one call have different seeds. */
  readonly seed: string
  readonly steering: Steering
}

/** A medium that is served under an address, and the prompt it was made from. */
export interface ServedFile extends Medium {
  readonly prompt: string
}

/** Bytes with their media type. */
export interface Content {
  readonly bytes: Buffer
  readonly type: string
}

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><script>alert(1)</script></svg>'
const HTML = '<!doctype html><html><body><script>alert(1)</script></body></html>'
const WRONG = {
  image: { bytes: Buffer.from(SVG), type: 'image/svg+xml' },
  video: { bytes: Buffer.from(HTML), type: 'text/html' },
} as const
const TYPES = { image: 'image/png', video: 'video/mp4' } as const

/** Makes the bytes of a medium as steered, with the content type that a server would send. */
export async function render({ kind, size, seed, steering }: Medium): Promise<Content> {
  const wrong = WRONG[kind]
  if (steering['lying-type']) return { ...wrong, type: TYPES[kind] }
  if (steering['wrong-type']) return wrong
  if (kind === 'video') {
    const clip = videoClip()
    return { bytes: steering['broken-image'] ? clip.subarray(0, 64) : clip, type: TYPES.video }
  }
  const draw = steering['broken-image'] ? drawBrokenPng : drawPng
  return { bytes: await draw(size, seed), type: TYPES.image }
}
