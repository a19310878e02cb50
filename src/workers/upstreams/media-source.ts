/** Where a media result is, as upstreams report it: an address, a data URI, or base64. */
import type { MediaSource } from './adapter.ts'
import { malformedAnswer } from './failures.ts'
import { asFields } from '../../shared/platform/fields.ts'

/** Characters that are no base64; white space is let through because some encoders break lines. */
const NO_BASE64 = /[^A-Za-z0-9+/=_\s-]/

/**
 * The bytes of a base64 text, which Buffer alone would not check: it skips what it cannot read.
 * @throws UpstreamError `unknown` where the text is empty or no base64
 */
export function bytesOf(base64: string): MediaSource {
  if (NO_BASE64.test(base64)) throw malformedAnswer('the result is no base64')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0) throw malformedAnswer('the result is empty')
  return { from: 'bytes', bytes }
}

/**
 * The result at an address: http(s) or a data URI.
 * @param headers what opens the address. An address that needs none can also be handed on (`results: link`).
 * @throws UpstreamError `unknown` for any other address
 */
export function sourceOf(address: string, headers?: Record<string, string>): MediaSource {
  const inline = /^data:[^,]{0,200};base64,/i.exec(address)
  if (inline) return bytesOf(address.slice(inline[0].length))
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw malformedAnswer('the result has no usable address')
  return { from: 'url', url: address, ...(headers && { headers }) }
}

/** The fields in which servers put a picture, or lists and objects with it: the likeliest first. */
const OF_PICTURES = [
  'data',
  'images',
  'image',
  'output',
  'outputs',
  'result',
  'results',
  'artifacts',
  'predictions',
  'b64_json',
  'b64',
  'base64',
  'image_base64',
  'image_b64',
  'bytesBase64Encoded',
  'image_bytes',
  'url',
  'image_url',
  'uri',
  'file',
  'content',
]

/** Nesting beyond which nothing is looked for. */
const MAX_DEPTH = 5

/** No picture is smaller, in characters of base64. */
const MIN_BASE64 = 24

/**
 * The first pictures in an answer, in whichever field and form, in their order: all in a list, and in an object those
 * of the first field that has any. What is empty, or no picture by its form, is passed over.
 * @param most how many are looked for: what comes beyond is not even decoded
 */
export function picturesIn(value: unknown, most: number, depth = 0): MediaSource[] {
  if (typeof value === 'string') return pictureOf(value.trim())
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return []
  const fields = asFields(value)
  const isList = Array.isArray(value)
  const places: unknown[] = isList ? value : OF_PICTURES.map((name) => fields[name])
  const found: MediaSource[] = []
  for (const place of places) {
    if (found.length >= (isList ? most : 1)) break
    found.push(...picturesIn(place, most - found.length, depth + 1))
  }
  return found
}

function pictureOf(text: string): MediaSource[] {
  if (/^https?:\/\//i.test(text)) return URL.canParse(text) ? [sourceOf(text)] : []
  const base64 = text.replace(/^data:[^,]{0,200};base64,/i, '')
  return base64.length >= MIN_BASE64 && !NO_BASE64.test(base64) ? [bytesOf(base64)] : []
}
