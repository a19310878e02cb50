/**
 * Where a media result is, as upstreams say it: an address, a data URI, or base64.
 */
import type { MediaSource } from './adapter.ts'
import { malformedAnswer } from './failures.ts'

/** Characters that are no base64; white space is let through because some encoders break lines. */
const NO_BASE64 = /[^A-Za-z0-9+/=\s]/

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
 * The result behind an address: http(s) or a data URI.
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
