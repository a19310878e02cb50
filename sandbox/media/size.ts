import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'

/** Width and height in pixels. */
export interface PixelSize {
  readonly width: number
  readonly height: number
}

const MAX_SIDE = 2048
const DEFAULT: PixelSize = { width: 256, height: 256 }
const PRESETS: Readonly<Record<string, PixelSize>> = {
  square: { width: 512, height: 512 },
  square_hd: { width: 1024, height: 1024 },
  portrait_4_3: { width: 768, height: 1024 },
  portrait_16_9: { width: 576, height: 1024 },
  landscape_4_3: { width: 1024, height: 768 },
  landscape_16_9: { width: 1024, height: 576 },
}

/**
 * The size that a request asks for by `size`, `image_size` or `resolution` (`640x480`, `1K`, `720p`, `512`, a preset of
 * fal, `{width, height}`) and `aspect_ratio`. Small by default; larger ones are scaled down to 2048.
 */
export function pixelSize(fields: Fields): PixelSize {
  for (const asked of [fields['size'], fields['image_size'], fields['resolution'], fields]) {
    const size = readSize(asked, asText(fields['aspect_ratio']))
    if (size) return fitted(size)
  }
  return DEFAULT
}

function readSize(asked: unknown, aspectRatio: string): PixelSize | undefined {
  if (typeof asked === 'string') return namedSize(asked, aspectRatio)
  const { width, height } = asFields(asked)
  return isSide(width) && isSide(height) ? { width, height } : undefined
}

function namedSize(name: string, aspectRatio: string): PixelSize | undefined {
  const sides = /^(\d{1,5})[x*](\d{1,5})$/.exec(name)
  if (sides) return sized(Number(sides[1]), Number(sides[2]))
  const square = /^(\d{1,5})(k?)$/i.exec(name)
  if (square) return shaped(Number(square[1]) * (square[2] ? 1024 : 1), aspectRatio)
  const lines = /^(\d{2,4})p$/i.exec(name)
  if (lines) return sized(Math.round((Number(lines[1]) * 16) / 9), Number(lines[1]))
  return Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined
}

function shaped(side: number, aspectRatio: string): PixelSize | undefined {
  const ratio = /^(\d{1,3}):(\d{1,3})$/.exec(aspectRatio)
  const [wide, high] = [Number(ratio?.[1] ?? 1), Number(ratio?.[2] ?? 1)]
  const longer = Math.max(wide, high)
  return sized(Math.round((side * wide) / longer), Math.round((side * high) / longer))
}

function sized(width: number, height: number): PixelSize | undefined {
  return isSide(width) && isSide(height) ? { width, height } : undefined
}

function isSide(side: unknown): side is number {
  return Number.isInteger(side) && (side as number) > 0
}

function fitted({ width, height }: PixelSize): PixelSize {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height))
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}
