/**
 * The stored output of a chat: the completion with the usage that it was settled on. Pure.
 */
import type { Tokens } from '../../terms/pricing.ts'
import { allInput } from '../../terms/pricing.ts'

/** Token counts under our own names and under those that OpenAI clients read (docs/api/chats.md#answers). */
export type ChatUsage = {
  input_tokens: number
  output_tokens: number
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  /** Of the input, what was read from a cache and what was written to one. */
  prompt_tokens_details?: { cached_tokens: number; cache_write_tokens?: number }
  /** Of the output, what was reasoning. */
  completion_tokens_details?: { reasoning_tokens: number }
}

/** A chat answer in OpenAI's form, without its usage. `choices` is never empty. */
export type ChatCompletion = {
  id: string
  object: 'chat.completion'
  created: number
  choices: Record<string, unknown>[]
  [field: string]: unknown
}

/** The stored output of a chat call. `completion` must not have a `usage` of its own. */
export const chatOutput = (completion: Record<string, unknown>, usage: ChatUsage): string =>
  JSON.stringify({ ...completion, usage })

/** The stored output of a chat call that is settled on these tokens, under the gateway's own id of the model. */
export const settledOutput = (completion: ChatCompletion, model: string, tokens: Tokens): string =>
  chatOutput(answered(completion, model), usageOf(tokens))

/** The completion, our own fields first, under the gateway's own model id; the upstream's other fields follow. */
function answered({ id, object, created, choices, ...rest }: ChatCompletion, model: string): Record<string, unknown> {
  return { id, object, created, model, choices, ...withoutOwn(rest) }
}

const withoutOwn = ({ model: _model, usage: _usage, ok: _ok, ...rest }: Record<string, unknown>) => rest

/**
 * The usage of an answer, in OpenAI's fields: there the three input counts are a sum and two parts of it. It is made of
 * what the call is settled on, never of an upstream's own words.
 */
function usageOf(tokens: Tokens): ChatUsage {
  const { cached, written = 0, output, reasoning } = tokens
  const input = allInput(tokens)
  return {
    input_tokens: input,
    output_tokens: output,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== undefined && {
      prompt_tokens_details: { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) },
    }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}
