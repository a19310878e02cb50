/**
 * The tokens that a request of the Responses API is charged for before its usage is known.
 */
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import { TOOLS_TOKENS, estimatedInput } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { bytesOfWords, partTokens, toolsOf, uncountedBytes } from './parts.ts'

/** The limit of the output where neither the request nor its model has one, in tokens. */
const DEFAULT_OUTPUT = 32_768

/** The limit of the output that a request asks for, or leaves to its model. */
export const outputOf = (asked: number | null | undefined, { maxOutputTokens }: CountingRules): number =>
  asked ?? maxOutputTokens ?? DEFAULT_OUTPUT

/** The input tokens that do not count by bytes: of pictures and documents, and what tools add. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  partTokens(request, rules) + (toolsOf(request).length > 0 ? TOOLS_TOKENS : 0)

/**
 * Input: the UTF-8 bytes of the whole body as JSON, less those of parts that count by their kind, by `bytesPerToken`,
 * plus what these count for, and what tools add. A text file counts by its data or by its words, whichever are more
 * bytes: control characters are six in JSON. Output: its limit.
 */
export function estimateResponses(request: ChatRequest, rules: CountingRules): Tokens {
  const bytes = bytesAsJson(request) - uncountedBytes(request, rules) + bytesOfWords(request)
  return { input: estimatedInput(bytes, fixedTokens(request, rules), rules), output: request.max_tokens }
}
