/**
 * What the web and the workers both know about media results: their types, their unguessable names, their
 * addresses, and where they are stored (STORAGE_URL). Pure: no file or network is touched here.
 */
import { createHmac } from 'node:crypto'
import type { CallId } from '../platform/ids.ts'

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
export const kindOf = (extension: MediaExtension): MediaKind =>
  MEDIA_TYPES[extension].startsWith('image/') ? 'image' : 'video'

/** The name of a stored result: unguessable, one path segment, with the extension of its type. */
export type MediaName = string & { readonly __mediaName: true }

const STEM_BYTES = 24
const NAME = new RegExp(`^[A-Za-z0-9_-]{32}\\.(${Object.keys(MEDIA_TYPES).join('|')})$`)

/**
 * The name of a call's result: 192 bits of an HMAC under the server's secret, so that nobody can guess a name, and
 * a call that is collected a second time overwrites its own object and makes no second one.
 * @param index which of the call's results, from 0
 */
export function mediaName(secret: string, callId: CallId, index: number, extension: MediaExtension): MediaName {
  const stem = createHmac('sha256', secret).update(`tollgate media result\n${callId}\n${index}`).digest()
  return `${stem.subarray(0, STEM_BYTES).toString('base64url')}.${extension}` as MediaName
}

/** The name that a text is, or null. What passes is one harmless path segment: nothing outside is addressable. */
export const parseMediaName = (text: string): MediaName | null => (NAME.test(text) ? (text as MediaName) : null)

/** The name in the public address of a stored result; null in an address of somebody else's. */
export const nameInUrl = (url: string): MediaName | null => parseMediaName(url.slice(url.lastIndexOf('/') + 1))

/** The extension of a name, and with it the type that is served. */
const extensionOf = (name: MediaName): MediaExtension => name.slice(name.lastIndexOf('.') + 1) as MediaExtension

/** The content type of a stored result. */
export const contentTypeOf = (name: MediaName): MediaType => MEDIA_TYPES[extensionOf(name)]

/** The public address of a stored result: the value of `data[0].url`. */
export const mediaUrl = (baseUrl: string, name: MediaName): string => `${baseUrl.replace(/\/+$/, '')}/media/${name}`

/** Where a result lies below the storage folder: in one of 4,096 folders, so that none of them grows too large. */
export const mediaFile = (name: MediaName): string => `${name.slice(0, 2)}/${name}`

/** The key of a result in its bucket. */
export const mediaKey = (prefix: string, name: MediaName): string => (prefix === '' ? name : `${prefix}/${name}`)

/** An image inside a data URI: its declared type, and its base64 text, which is valid but not decoded yet. */
export type DataImage = { contentType: MediaType; base64: string }

/** Types that are declared for an image that is sent inline; some programs write a name of JPEG that is none. */
const DATA_TYPES: Readonly<Record<string, MediaType>> = {
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/webp': 'image/webp',
  'image/gif': 'image/gif',
}

/** Longer than any type with its parameters. */
const MAX_HEAD = 200

/**
 * Reads the image of a `data:` URI (RFC 2397). The type may have parameters, and the base64 white space, as of wrapped
 * lines, and no padding. Its bytes are not read.
 * @returns the image, or what is wrong with it, as the end of a sentence about the address
 */
export function parseDataImage(uri: string): DataImage | { problem: string } {
  const comma = uri.slice(0, MAX_HEAD).indexOf(',')
  const [type = '', ...parameters] = uri
    .slice('data:'.length, Math.max(comma, 0))
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const contentType = Object.hasOwn(DATA_TYPES, type) ? DATA_TYPES[type] : undefined
  if (contentType === undefined)
    return { problem: 'must declare a PNG, JPEG, WebP or GIF image, as data:image/png does' }
  if (parameters.at(-1) !== 'base64') return { problem: 'must have ";base64," before the data of its image' }
  const text = uri.slice(comma + 1)
  const digits = (/\s/.test(text) ? text.replaceAll(/\s+/g, '') : text).replace(/={1,2}$/, '')
  if (digits === '') return { problem: 'has no data of an image' }
  const odd = /[^A-Za-z0-9+/]/.exec(digits)
  if (odd) return { problem: `has a character that is not base64, after ${odd.index} that are` }
  if (digits.length % 4 === 1) return { problem: 'has base64 that was cut off' }
  return { contentType, base64: digits.padEnd(Math.ceil(digits.length / 4) * 4, '=') }
}

/** An address as upstreams are sent it: an image in a `data:` URI in its plainest form, any other as it is. */
export function plainImageUrl(url: string): string {
  if (!/^data:/i.test(url)) return url
  const image = parseDataImage(url)
  return 'problem' in image ? url : `data:${image.contentType};base64,${image.base64}`
}
