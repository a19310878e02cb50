/**
 * What the web and the workers both know about media results: their types, their unguessable names, their
 * addresses, and where they are kept (STORAGE_URL). Pure: no file or network is touched here.
 */
import { createHmac } from 'node:crypto'
import type { CallId } from '../ids.ts'

/**
 * The types that are stored and served, by their file extension. SVG and HTML are missing on purpose: they can
 * carry scripts that would run on the gateway's own origin.
 */
export const MEDIA_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
} as const

/** The ending of a stored name; it decides the type that is served. */
export type MediaExtension = keyof typeof MEDIA_TYPES

/** A content type that is stored and served. */
export type MediaType = (typeof MEDIA_TYPES)[MediaExtension]

/** What a media call produces. */
export type MediaKind = 'image' | 'video'

/** The kind that a stored type is of. */
export function kindOf(extension: MediaExtension): MediaKind {
  return MEDIA_TYPES[extension].startsWith('image/') ? 'image' : 'video'
}

/** The name of a stored result: unguessable, one path segment, with the extension of its type. */
export type MediaName = string & { readonly __mediaName: true }

const STEM_BYTES = 24
const NAME = new RegExp(`^[A-Za-z0-9_-]{32}\\.(${Object.keys(MEDIA_TYPES).join('|')})$`)

/**
 * The name of a call's result: 192 bits of an HMAC under the server's secret, so that nobody can guess a name, and
 * a call that is collected a second time overwrites its own object instead of leaving two.
 * @param index which of the call's results, from 0
 */
export function mediaName(secret: string, callId: CallId, index: number, extension: MediaExtension): MediaName {
  const stem = createHmac('sha256', secret).update(`tollgate media result\n${callId}\n${index}`).digest()
  return `${stem.subarray(0, STEM_BYTES).toString('base64url')}.${extension}` as MediaName
}

/** The name that a text is, or null. What passes is one harmless path segment: nothing outside is addressable. */
export function parseMediaName(text: string): MediaName | null {
  return NAME.test(text) ? (text as MediaName) : null
}

/** The extension of a name, and with it the type that is served. */
function extensionOf(name: MediaName): MediaExtension {
  return name.slice(name.lastIndexOf('.') + 1) as MediaExtension
}

/** The content type of a stored result. */
export function contentTypeOf(name: MediaName): MediaType {
  return MEDIA_TYPES[extensionOf(name)]
}

/** The public address of a stored result: what `data[0].url` says. */
export function mediaUrl(baseUrl: string, name: MediaName): string {
  return `${baseUrl.replace(/\/+$/, '')}/media/${name}`
}

/** Where a result lies below the storage folder: in one of 4,096 folders, so that none of them grows too large. */
export function mediaFile(name: MediaName): string {
  return `${name.slice(0, 2)}/${name}`
}

/** Where media results are kept, parsed from STORAGE_URL. */
export type StorageLocation = { kind: 'file'; path: string } | { kind: 's3'; bucket: string; prefix: string }

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?$/

/**
 * Parses STORAGE_URL: `file:PATH` (relative to the working directory, or absolute; `file:///PATH` too) or
 * `s3://bucket/prefix`. The prefix comes back without slashes at its ends.
 * @throws TypeError with a sentence for the operator
 */
export function parseStorageUrl(text: string): StorageLocation {
  const path = /^file:(?:\/\/(?=\/))?(.+)$/s.exec(text)?.[1]
  if (path !== undefined && !path.startsWith('//') && !path.includes('\0')) return { kind: 'file', path }
  const s3 = S3_URL.exec(text)
  if (!s3) throw new TypeError('STORAGE_URL must be file:PATH or s3://bucket/prefix.')
  return { kind: 's3', bucket: s3[1]!, prefix: (s3[2] ?? '').replace(/^\/+|\/+$/g, '') }
}

/** The key of a result in its bucket. */
export function mediaKey(prefix: string, name: MediaName): string {
  return prefix === '' ? name : `${prefix}/${name}`
}

/** An image inside a data URI: its declared type, and its base64 text, which is valid but not decoded yet. */
export type DataImage = { contentType: MediaType; base64: string }

const DATA_IMAGE_HEAD = /^data:(image\/(?:png|jpeg|webp|gif));base64,/i

/** The image of a `data:` URI, or null when it declares no base64 PNG, JPEG, WebP or GIF. Its bytes are not read. */
export function parseDataImage(uri: string): DataImage | null {
  const head = DATA_IMAGE_HEAD.exec(uri.slice(0, 64))
  if (!head) return null
  const base64 = uri.slice(head[0].length)
  const digits = base64.endsWith('==') ? base64.slice(0, -2) : base64.endsWith('=') ? base64.slice(0, -1) : base64
  if (digits === '' || base64.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(digits)) return null
  return { contentType: head[1]!.toLowerCase() as MediaType, base64 }
}
