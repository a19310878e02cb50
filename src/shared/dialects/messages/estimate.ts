/**
 * The tokens that a request of the Messages API is charged for before its usage is known.
 */
import type { CountingRules, Tokens } from '../../requests/pricing.ts'
import { BYTES_PER_TOKEN, TOOLS_TOKENS } from '../../requests/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { partTokens, uncountedBytes } from './parts.ts'

/**
 * Input: the UTF-8 bytes of the whole body as JSON, less those of parts that count by their kind, by `bytesPerToken`,
 * plus what these count for, and what tools add. Output: its limit.
 */
export function estimateMessages(request: ChatRequest, rules: CountingRules): Tokens {
  const bytes = Buffer.byteLength(JSON.stringify(request)) - uncountedBytes(request, rules)
  const { tools } = request
  const ofTools = Array.isArray(tools) && tools.length > 0 ? TOOLS_TOKENS : 0
  const input = Math.ceil(bytes / (rules.bytesPerToken ?? BYTES_PER_TOKEN)) + partTokens(request, rules) + ofTools
  return { input, output: request.max_tokens }
}
