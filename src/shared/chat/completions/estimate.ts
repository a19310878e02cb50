/** The tokens that a chat is charged for before its usage is known. */
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import { estimatedInput, outputLimit, tokensOfPart } from '../../terms/pricing.ts'
import { closingBytes } from '../schemas.ts'
import { urlOf } from './parts.ts'

/** The fields of a valid chat body that decide its pre-charge, next to its length. */
export type CountedChat = {
  messages: readonly { content?: unknown }[]
  max_tokens?: number | null
  max_completion_tokens?: number | null
  n?: number | null
  prediction?: unknown
  response_format?: unknown
  tools?: unknown
}

/**
 * The tokens a chat call is pre-charged for. Input: the UTF-8 bytes of the whole body as JSON, less the `data:` URIs of
 * its image parts, with what its schemas gain where they are closed, by `bytesPerToken`, plus what each part counts
 * for. Output: the most that the upstream is allowed, and the prediction, of which upstreams bill as output what the
 * answer does not use. Bytes, never a tokenizer: every tokenizer is quadratic on text that a client may choose.
 */
export function estimateChat(body: CountedChat, rules: CountingRules): Tokens {
  let bytes = Buffer.byteLength(JSON.stringify(body))
  for (const part of body.messages.flatMap(partsOf)) {
    if (part.type === 'image_url') bytes -= bytesOfDataUri(part.image_url)
  }
  bytes += schemaBytes(body)
  const perChoice = outputLimit(body.max_tokens ?? body.max_completion_tokens, rules)
  const predicted = body.prediction ? estimatedInput(Buffer.byteLength(JSON.stringify(body.prediction)), 0, rules) : 0
  const input = estimatedInput(bytes, fixedTokens(body, rules), rules)
  return { input, output: (perChoice + predicted) * (body.n ?? 1) }
}

/** What its schemas may have more where an upstream has them closed. */
function schemaBytes({ response_format: format, tools }: CountedChat): number {
  const called = listOf(tools).map(({ function: one }) => asFields(one))
  return closingBytes(
    asFields(asFields(format).json_schema).schema,
    called.map(({ strict, parameters: schema }) => ({ strict, schema })),
  )
}

/** The input tokens of the parts of a chat's messages that count by their kind. */
export const fixedTokens = ({ messages }: Pick<CountedChat, 'messages'>, { partTokens }: CountingRules): number =>
  messages.flatMap(partsOf).reduce((sum, { type }) => sum + (tokensOfPart(type, partTokens) ?? 0), 0)

const partsOf = ({ content }: { content?: unknown }): Fields[] => listOf(content)

/** The bytes of an image that is in its part as a `data:` URI; 0 for an address. */
function bytesOfDataUri(image: unknown): number {
  const url = urlOf(image)
  return typeof url === 'string' && /^data:/i.test(url) ? Buffer.byteLength(JSON.stringify(url)) - 2 : 0
}
