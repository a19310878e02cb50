/** The tokens that a request of the Responses API is charged for before its usage is known. */
import { excessDigits } from '../../platform/json-edits.ts'
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Sized } from '../parts.ts'
import { countOf, estimateOf, fixedTokensOf } from '../parts.ts'
import { asFields } from '../../platform/fields.ts'
import { closingBytes } from '../schemas.ts'
import { bytesOfWords, partsOf, toolsOf } from './parts.ts'

/** The limit of the output if neither the request nor its model has one, in tokens. */
const DEFAULT_OUTPUT = 32_768

/** The limit of the output that a request asks for, or that of its model. */
export const outputOf = (asked: number | null | undefined, { maxOutputTokens }: CountingRules): number =>
  asked ?? maxOutputTokens ?? DEFAULT_OUTPUT

const sizedOf = (request: ChatRequest): Sized => ({
  parts: partsOf(request),
  tools: toolsOf(request),
  limit: request.max_tokens,
})

/** The input tokens that do not count by bytes. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  fixedTokensOf(sizedOf(request), rules)

/** Our own count of the input of a request. */
export const countResponses = (
  { max_tokens: _limit, messages: _messages, ...request }: ChatRequest,
  rules: CountingRules,
): number => countOf(bytesAsJson(request), partsOf(request), rules)

/**
 * The tokens of a request. A text file counts by its data or by its words, whichever are more bytes: control characters
 * are six in JSON.
 * @param text how it was written: an upstream may be sent its numbers so
 */
export const estimateResponses = (request: ChatRequest, rules: CountingRules, text = ''): Tokens =>
  estimateOf(
    bytesAsJson(request) + bytesOfWords(request) + schemaBytes(request) + excessDigits(text),
    sizedOf(request),
    rules,
  )

/** What its schemas may have more where an upstream has them closed. */
const schemaBytes = (request: ChatRequest): number =>
  closingBytes(
    asFields(asFields(request.text).format).schema,
    toolsOf(request).map(({ strict, parameters: schema }) => ({ strict, schema })),
  )
