/** The tokens that a request of the Messages API is charged for before its usage is known. */
import { asFields, listOf } from '../../platform/fields.ts'
import { excessDigits } from '../../platform/json-edits.ts'
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules, Tokens } from '../../terms/pricing.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Sized } from '../parts.ts'
import { countOf, estimateOf, fixedTokensOf } from '../parts.ts'
import { closingBytes } from '../schemas.ts'
import { partsOf } from './parts.ts'

const sizedOf = (request: ChatRequest): Sized => ({
  parts: partsOf(request),
  tools: listOf(request.tools),
  limit: request.max_tokens,
})

/** The input tokens that do not count by bytes. */
export const fixedTokens = (request: ChatRequest, rules: CountingRules): number =>
  fixedTokensOf(sizedOf(request), rules)

/** Our own count of the input of a request. */
export const countMessages = ({ max_tokens: _limit, ...request }: ChatRequest, rules: CountingRules): number =>
  countOf(bytesAsJson(request), partsOf(request), rules)

/** The tokens of a request. @param text how it was written: an upstream may be sent its numbers so */
export const estimateMessages = (request: ChatRequest, rules: CountingRules, text = ''): Tokens =>
  estimateOf(bytesAsJson(request) + schemaBytes(request) + excessDigits(text), sizedOf(request), rules)

/** What its schemas may have more where they are closed. */
const schemaBytes = ({ output_config: config, tools }: ChatRequest): number =>
  closingBytes(
    asFields(asFields(config).format).schema,
    listOf(tools).map(({ strict, input_schema: schema }) => ({ strict, schema })),
  )
