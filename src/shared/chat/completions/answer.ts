/**
 * Answers of chat completions: their frames are chunks.
 */
import type { Fields } from '../../platform/fields.ts'
import { countOutput } from '../../requests/token-count.ts'
import type { AnswerForm, CutOff, Completion } from '../answer-form.ts'
import { ChatAssembly, beginsAnswer, choicesOf, hasReasoning } from './join-frames.ts'
import type { ChatCompletion } from './output.ts'
import { settledOutput } from './output.ts'

/** How answers of chat completions are read, joined, counted and stored. */
export const chatForm: AnswerForm = {
  assemble: (maxBytes) => new ChatAssembly(maxBytes),
  completion: () => new ChoicesCompletion(),
  begins: beginsAnswer,
  reasons: hasReasoning,
  written: (chunk, model, line) =>
    line !== undefined && chunk.model === model ? line : JSON.stringify({ ...chunk, model }),
  count: ({ choices }) => countOutput(choices as Fields[]),
  output: (answer, model, tokens) => settledOutput(answer as ChatCompletion, model, tokens),
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
