/** The tokens that a request of Gemini's API is charged for before its usage is known. */
import { asFields } from '../../platform/fields.ts'
import { bytesAsJson } from '../../platform/json-bytes.ts'
import { excessDigits } from '../../platform/json-edits.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import type { Sized } from '../parts.ts'
import { countOf, estimateOf, fixedTokensOf } from '../parts.ts'
import { closingBytes } from '../schemas.ts'
import { bytesOfWords, functionsOf, partsOf } from './parts.ts'
import { schemaOfAnswer } from './read-request.ts'

const sizedOf = (request: ChatRequest): Sized => ({
  parts: partsOf(request),
  tools: functionsOf(request),
  limit: request.max_tokens,
})

/** The input tokens that do not count by bytes. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  fixedTokensOf(sizedOf(request), rules)

/** Our own count of the input of a request. */
export const countGemini = (
  { max_tokens: _limit, messages: _messages, ...request }: ChatRequest,
  rules: CountingRules,
): number => countOf(bytesAsJson(request), partsOf(request), rules)

/**
 * The tokens of a request. A text file counts by its data or by its words, whichever are more bytes.
 * @param text how it was written: an upstream may be sent its numbers so
 */
export const estimateGemini = (request: ChatRequest, rules: CountingRules, text = ''): Tokens =>
  estimateOf(
    bytesAsJson(request) + bytesOfWords(request) + schemaBytes(request) + excessDigits(text),
    sizedOf(request),
    rules,
  )

/** What the schema of its answer may have more where an upstream has it closed. */
const schemaBytes = ({ generationConfig }: ChatRequest): number =>
  closingBytes(schemaOfAnswer(asFields(generationConfig)), [])
