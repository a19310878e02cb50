/**
 * The pictures and documents in the body of an agent, wherever its dialect has them: what they count for, and their
 * addresses.
 */
import { isAddress } from '../platform/fields.ts'
import { jsonBytes } from '../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../terms/pricing.ts'
import { TOOLS_TOKENS, estimatedInput, tokensOfPart } from '../terms/pricing.ts'
import { imageUrlProblem } from '../requests/addresses.ts'
import type { Wording } from './check-body.ts'

/** A picture or a document. */
export type Part = {
  kind: 'image' | 'document'
  /** The path to it, such as `messages.0.content.1.source`, and to its address. */
  path: string
  urlPath: string
  /** Its address: http(s), or a `data:` URI; null of what has none. */
  url: string | null
  /** Its data in the body, whose bytes do not count where the model has a number of tokens for its kind. */
  data: string | null
  /** The type of data that is no `data:` URI. */
  mediaType?: string
  /** Of a document that is a text: what others count for depends on their model. */
  isText?: boolean
}

/** An http(s) address that an upstream would fetch, or we for it. */
export type Address = { url: string; isPicture: boolean }

/** The http(s) addresses of parts. */
export const addressesIn = (parts: readonly Part[]): Address[] =>
  parts.flatMap(({ kind, url }) => (isAddress(url) ? [{ url, isPicture: kind === 'image' }] : []))

/** The input tokens that a part counts for in place of its data; null for one that the model does not price. */
const tokensOf = ({ kind }: Part, { partTokens }: CountingRules): number | null =>
  tokensOfPart(kind === 'image' ? 'image_url' : kind, partTokens)

/** What of a request counts beyond its bytes, and its limit of output. */
export type Sized = { parts: readonly Part[]; tools: readonly unknown[]; limit: number }

/** The input tokens that do not count by bytes: of pictures and documents, and what tools add. */
export const fixedTokensOf = ({ parts, tools }: Sized, rules: CountingRules): number =>
  parts.reduce((sum, part) => sum + (tokensOf(part, rules) ?? 0), tools.length > 0 ? TOOLS_TOKENS : 0)

/**
 * The tokens of a request. Input: the UTF-8 bytes of its whole body as JSON, less those of parts that count by their
 * kind, by `bytesPerToken`, plus what these count for, and what tools add. Output: its limit.
 * @param bytes of the body
 */
export function estimateOf(bytes: number, sized: Sized, rules: CountingRules): Tokens {
  const uncounted = sized.parts
    .filter((part) => part.data !== null && tokensOf(part, rules) !== null)
    .reduce((sum, { data }) => sum + jsonBytes(data!), 0)
  return { input: estimatedInput(bytes - uncounted, fixedTokensOf(sized, rules), rules), output: sized.limit }
}

/** The tokens of a request as they are counted for its client: its input as it is sent, without what tools may add. */
export const countOf = (bytes: number, parts: readonly Part[], rules: CountingRules): number =>
  estimateOf(bytes, { parts, tools: [], limit: 0 }, rules).input

/** Most http(s) addresses in the parts of one request. */
export const MAX_ADDRESSES = 50

/** @throws ApiError for an address that must not be fetched, too many of them, or a document that has no price */
export function requireParts(parts: readonly Part[], rules: CountingRules, wording: Wording): void {
  if (addressesIn(parts).length > MAX_ADDRESSES) throw wording.tooManyAddresses(MAX_ADDRESSES)
  for (const part of parts) {
    const { kind, isText = false, path, urlPath, data, mediaType = '' } = part
    if (kind === 'document' && !isText && tokensOf(part, rules) === null) throw wording.noText(path)
    const url = part.url ?? (kind === 'image' && data !== null ? `data:${mediaType};base64,${data}` : null)
    const problem = url === null ? null : imageUrlProblem(url)
    if (problem !== null) throw wording.refusal(urlPath, problem)
  }
}
