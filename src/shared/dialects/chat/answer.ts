/**
 * Answers of chat completions: their frames are chunks.
 */
import type { Fields } from '../../platform/fields.ts'
import { countOutput, wordBytes } from '../../requests/token-count.ts'
import type { AnswerForm, CutOff, Completion } from '../answer-form.ts'
import { ChatAssembly, beginsAnswer, choicesOf, hasReasoning, sizeOfChunk } from './assembly.ts'
import type { ChatCompletion } from './output.ts'
import { settledOutput } from './output.ts'

/** How answers of chat completions are read, joined, counted and stored. */
export const chatForm: AnswerForm = {
  assemble: (maxBytes) => new ChatAssembly(maxBytes),
  completion: () => new ChoicesCompletion(),
  wordsIn: (chunk) => choicesOf(chunk).reduce((sum, { delta }) => sum + wordBytes(delta), 0),
  sizeOf: sizeOfChunk,
  begins: beginsAnswer,
  reasons: hasReasoning,
  named: (chunk, model) => ({ ...chunk, model }),
  count: ({ choices }) => countOutput(choices as Fields[]),
  output: (answer, model, tokens) => settledOutput(answer as ChatCompletion, model, tokens),
}

/** Whether each choice has ended, by its index. */
class ChoicesCompletion implements Completion {
  private head: Fields = {}
  private readonly ends = new Map<unknown, boolean>()

  take(chunk: Fields): void {
    const { choices: _choices, object: _object, obfuscation: _obfuscation, ...head } = chunk
    this.head = { ...this.head, ...head }
    for (const { index, finish_reason: end } of choicesOf(chunk))
      this.ends.set(index, typeof end === 'string' || this.ends.get(index) === true)
  }

  get isWhole(): boolean {
    return [...this.ends.values()].every(Boolean)
  }

  lastFrames(cutOff: CutOff): Fields[] {
    const open = [...this.ends].filter(([, ended]) => !ended)
    for (const [index] of open) this.ends.set(index, true)
    if (open.length === 0) return []
    const choices = open.map(([index]) => ({ index, delta: {}, finish_reason: cutOff }))
    return [{ ...this.head, object: 'chat.completion.chunk', choices }]
  }
}
