import { asFields, isAddress } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import { TOKEN_BYTES } from '../answer-form.ts'
import type { DialectDefinition } from '../definition.ts'
import { chatForm } from './answer.ts'
import { fixedTokens } from './estimate.ts'
import { addressesOf, withImages } from './parts.ts'
import { chatRefusal } from './check.ts'
import { FREE_FIELDS } from './fields.ts'
import { canonicalChat, isLegacyChat } from './read-request.ts'
import { ChunkEncoder } from './write-frames.ts'

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** Whether a request asks for reasoning, in the form of any vendor that speaks chat completions. */
const asksForReasoning = (fields: Fields): boolean => {
  const { reasoning_effort: effort, thinking, reasoning, enable_thinking: enabled } = fields
  return (
    (isGiven(effort) && effort !== 'none') ||
    (isGiven(thinking) && asFields(thinking).type !== 'disabled') ||
    (isGiven(reasoning) && asFields(reasoning).enabled !== false && asFields(reasoning).effort !== 'none') ||
    enabled === true
  )
}

/** Bytes that each requested probability adds to a token of an answer. */
const PROBABILITY_BYTES = 120

function mostBytes({ max_tokens: most, n, logprobs, top_logprobs: others }: ChatRequest): number {
  const perToken = TOKEN_BYTES + (logprobs === true ? PROBABILITY_BYTES * (1 + Number(others ?? 0)) : 0)
  return most * (n ?? 1) * perToken
}

/** OpenAI's chat completions, which are the gateway's own form. */
export const completions: DialectDefinition = {
  canonical: canonicalChat,
  needsAllow: (request) => Object.keys(request).filter((name) => !FREE_FIELDS.has(name)),
  refusal: chatRefusal,
  encoder: ({ request }) => new ChunkEncoder(isLegacyChat(request)),
  answers: chatForm,
  errors: null,
  limitField: 'max_tokens',
  asksForReasoning,
  mostBytes,
  reportsFailures: false,
  fixedTokens,
  addresses: ({ messages }) =>
    messages
      .flatMap(addressesOf)
      .flatMap(({ field, url }) => (isAddress(url) ? [{ url, isPicture: field === 'image_url' }] : [])),
  withPictures: (request, change) => ({
    ...request,
    messages: request.messages.map((message) => withImages(message, change)),
  }),
}
