/**
 * The tokens that a request of the Messages API is charged for before its usage is known.
 */
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import { TOOLS_TOKENS, estimatedInput } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { partTokens, uncountedBytes } from './parts.ts'

/** The input tokens that do not count by bytes: of pictures and documents, and what tools add. */
export function fixedTokens(request: ChatRequest, rules: CountingRules): number {
  const { tools } = request
  const ofTools = Array.isArray(tools) && tools.length > 0 ? TOOLS_TOKENS : 0
  return partTokens(request, rules) + ofTools
}

/**
 * Input: the UTF-8 bytes of the whole body as JSON, less those of parts that count by their kind, by `bytesPerToken`,
 * plus what these count for, and what tools add. Output: its limit.
 */
export function estimateMessages(request: ChatRequest, rules: CountingRules): Tokens {
  const bytes = bytesAsJson(request) - uncountedBytes(request, rules)
  return { input: estimatedInput(bytes, fixedTokens(request, rules), rules), output: request.max_tokens }
}
