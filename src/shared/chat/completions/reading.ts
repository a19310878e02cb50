/**
 * What of a chat request decides how its answer is read.
 */
import { asFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { TOKEN_BYTES } from '../answer-form.ts'

/** Whether a request asks for reasoning, in the form of any vendor that speaks chat completions. */
export const chatAsksForReasoning = (fields: Fields): boolean => {
  const { reasoning_effort: effort, thinking, reasoning, enable_thinking: enabled } = fields
  return (
    (isGiven(effort) && effort !== 'none') ||
    (isGiven(thinking) && asFields(thinking).type !== 'disabled') ||
    (isGiven(reasoning) && asFields(reasoning).enabled !== false && asFields(reasoning).effort !== 'none') ||
    enabled === true
  )
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** Bytes that each requested probability adds to a token of an answer. */
const PROBABILITY_BYTES = 120

/** The most bytes of JSON that the answer to a request may take. */
export function mostChatBytes({ max_tokens: most, n, logprobs, top_logprobs: others }: ChatRequest): number {
  const perToken = TOKEN_BYTES + (logprobs === true ? PROBABILITY_BYTES * (1 + Number(others ?? 0)) : 0)
  return most * (n ?? 1) * perToken
}
