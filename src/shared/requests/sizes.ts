/**
 * From `resolution`, which is a tier (`1K`, `720p`), a ratio (`16:9`) or a size (`1024x1024`), to the `size` that
 * upstreams of OpenAI's kind want, and back. Pure.
 */

/** Sizes of images by tier. Ratios get the three sizes that every model of OpenAI's has. */
const IMAGE_SIZES: Readonly<Record<string, string>> = {
  '512': '512x512',
  '1K': '1024x1024',
  '2K': '2048x2048',
  '4K': '3840x2160',
  '720P': '1280x720',
  '1080P': '1920x1080',
  '1:1': '1024x1024',
  '3:2': '1536x1024',
  '4:3': '1536x1024',
  '16:9': '1536x1024',
  '2:3': '1024x1536',
  '3:4': '1024x1536',
  '9:16': '1024x1536',
}

const VIDEO_SIZES: Readonly<Record<string, string>> = {
  '480P': '854x480',
  '720P': '1280x720',
  '1080P': '1920x1080',
  '1K': '1920x1080',
  '2K': '2560x1440',
  '4K': '3840x2160',
  '16:9': '1280x720',
  '9:16': '720x1280',
  '1:1': '720x720',
}

/**
 * The `size` of a `resolution`; the resolution itself if none is known: what the
 * catalogue offers is always sent, and an upstream that cannot make it refuses it.
 */
export function sizeOf(modality: 'image' | 'video', resolution: string | undefined): string | undefined {
  if (resolution === undefined) return undefined
  if (/^\d{1,5}x\d{1,5}$/i.test(resolution)) return resolution.toLowerCase()
  const sizes = modality === 'image' ? IMAGE_SIZES : VIDEO_SIZES
  const tier = resolution.toUpperCase()
  return Object.hasOwn(sizes, tier) ? sizes[tier] : resolution
}

/** How far from 16:9 a size that is named by its height may be: codecs want even sides. */
const WIDE = { least: 1.7, most: 1.85 }

/**
 * The resolution of a video that a `size` asks for: of those that are offered the one that is sent as this size, or,
 * where it is a wide one, that of its height (`848x480` is `480p`). The size itself if there is none.
 */
export function resolutionOfSize(size: string, offered: readonly string[]): string {
  const same = offered.find((resolution) => sizeOf('video', resolution) === size.toLowerCase())
  if (same !== undefined) return same
  const [width = 0, height = 0] = size.toLowerCase().split('x').map(Number)
  const isWide = width >= WIDE.least * height && width <= WIDE.most * height
  return offered.find((resolution) => isWide && resolution.toLowerCase() === `${height}p`) ?? size
}
