/**
 * The tokens that a request of the Messages API is charged for before its usage is known.
 */
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { estimateOf, fixedTokensOf } from '../parts.ts'
import { partsOf } from './parts.ts'

const toolsOf = ({ tools }: ChatRequest): unknown[] => (Array.isArray(tools) ? tools : [])

/** The input tokens that do not count by bytes. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  fixedTokensOf(partsOf(request), toolsOf(request), rules)

/** The tokens of a request. */
export const estimateMessages = (request: ChatRequest, rules: CountingRules): Tokens =>
  estimateOf(
    bytesAsJson(request),
    { parts: partsOf(request), tools: toolsOf(request), limit: request.max_tokens },
    rules,
  )
