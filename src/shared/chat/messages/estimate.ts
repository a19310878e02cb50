/** The tokens that a request of the Messages API is charged for before its usage is known. */
import { listOf } from '../../platform/fields.ts'
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Sized } from '../parts.ts'
import { estimateOf, fixedTokensOf } from '../parts.ts'
import { partsOf } from './parts.ts'

const sizedOf = (request: ChatRequest): Sized => ({
  parts: partsOf(request),
  tools: listOf(request.tools),
  limit: request.max_tokens,
})

/** The input tokens that do not count by bytes. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  fixedTokensOf(sizedOf(request), rules)

/** The tokens of a request. */
export const estimateMessages = (request: ChatRequest, rules: CountingRules): Tokens =>
  estimateOf(bytesAsJson(request), sizedOf(request), rules)
