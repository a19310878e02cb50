/** Answers of chat completions: their frames are chunks. */
import type { Fields } from '../../platform/fields.ts'
import type { Tokens } from '../../terms/pricing.ts'
import { allInput } from '../../terms/pricing.ts'
import { countOutput } from '../../requests/token-count.ts'
import type { AnswerForm, Completion } from '../answer-form.ts'
import type { CutOff } from '../assembly.ts'
import { ChatAssembly, beginsAnswer, choicesOf, hasReasoning } from './join-frames.ts'

/** How answers of chat completions are read, joined, counted and stored. */
export const chatForm: AnswerForm = {
  assemble: (maxBytes) => new ChatAssembly(maxBytes),
  completion: () => new ChoicesCompletion(),
  begins: beginsAnswer,
  reasons: hasReasoning,
  written: (chunk, model, line) =>
    line !== undefined && chunk.model === model ? line : JSON.stringify({ ...chunk, model }),
  count: ({ choices }) => countOutput(choices as Fields[]),
  // Our own fields first, under the gateway's own id of the model; the upstream's other fields follow.
  output: ({ id, object, created, choices, model: _model, usage: _usage, ok: _ok, ...rest }, model, tokens) =>
    JSON.stringify({ id, object, created, model, choices, ...rest, usage: usageOf(tokens) }),
}

/** Which choices have ended, by their indexes. */
class ChoicesCompletion implements Completion {
  private last: Fields = {}
  private readonly open = new Set<unknown>()
  private readonly ended = new Set<unknown>()

  take(chunk: Fields): void {
    this.last = chunk
    for (const { index, finish_reason: end } of choicesOf(chunk)) {
      if (typeof end === 'string') this.ended.add(index)
      if (this.ended.has(index)) this.open.delete(index)
      else this.open.add(index)
    }
  }

  get isWhole(): boolean {
    return this.open.size === 0
  }

  lastFrames(cutOff: CutOff): Fields[] {
    if (this.isWhole) return []
    const { choices: _choices, object: _object, obfuscation: _obfuscation, ...head } = this.last
    const choices = [...this.open].map((index) => ({ index, delta: {}, finish_reason: cutOff }))
    this.open.clear()
    return [{ ...head, object: 'chat.completion.chunk', choices }]
  }
}

/**
 * The usage of an answer, under our own names and in OpenAI's fields (docs/api/chats.md#answers): there the three input
 * counts are a sum and two parts of it. It is made of what the call is settled on, never of an upstream's own words.
 */
function usageOf(tokens: Tokens) {
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
