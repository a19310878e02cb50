/** What a media model makes. */
export type MediaKind = 'image' | 'video'

const VIDEO_NAME = /video|veo|sora|kling|seedance|t2v|i2v|clip/i

/** What a model makes, judged by its name: some protocols have one endpoint for all kinds. */
export function kindOf(model: string): MediaKind {
  return VIDEO_NAME.test(model) ? 'video' : 'image'
}

/** Whether bytes begin like a PNG, JPEG, GIF or WebP image. */
export function looksLikeImage(bytes: Buffer): boolean {
  const head = bytes.toString('latin1', 0, 12)
  return (
    head.startsWith('\x89PNG\r\n\x1a\n') ||
    head.startsWith('\xff\xd8\xff') ||
    /^GIF8[79]a/.test(head) ||
    /^RIFF[^]{4}WEBP/.test(head)
  )
}
