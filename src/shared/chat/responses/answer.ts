/** Answers of the Responses API: their frames are its events. */
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { Tokens } from '../../terms/pricing.ts'
import { allInput } from '../../terms/pricing.ts'
import { tokensOfWords } from '../../requests/token-count.ts'
import type { AnswerForm, Completion } from '../answer-form.ts'
import type { CutOff } from '../assembly.ts'
import { ResponseAssembly, cutEnd, isEnd, wordsInEvent } from './join-frames.ts'
import { eventsOfItem, piecesOf } from './items.ts'

/** What the Responses API makes of its events. */
export const responsesForm: AnswerForm = {
  assemble: (maxBytes) => new ResponseAssembly(maxBytes),
  completion: () => new ResponseCompletion(),
  begins: (event) => isEnd(event) || wordsInEvent(event) > 0 || event.type === 'response.output_item.done',
  reasons: (event) => /reasoning/.test(`${String(event.type)} ${String(asFields(event.item).type)}`),
  written: ({ type, response, ...event }, model) =>
    JSON.stringify({ type, ...(response !== undefined && { response: { ...asFields(response), model } }), ...event }),
  count: ({ output }) =>
    tokensOfWords(listOf(output).reduce((sum, item) => sum + Buffer.byteLength(wordsOfItem(item)), 0)),
  output: (answer, model, tokens) => {
    const { usage: _usage, ...rest } = answer
    return JSON.stringify({ ...rest, model, usage: usageOf(tokens) })
  },
}

const wordsOfItem = (item: Fields): string =>
  [typeof item.name === 'string' ? item.name : '', ...piecesOf({ item, index: 0 }).map(({ text }) => text)].join('')

/** The usage of an answer in OpenAI's terms: details are parts of the counts. */
function usageOf(tokens: Tokens) {
  const { cached = 0, written = 0, output, reasoning = 0 } = tokens
  const input = allInput(tokens)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}

/** Whether a response has ended. What ends its open items is known once its whole answer is (`responses.ts`). */
class ResponseCompletion implements Completion {
  private hasBegun = false
  private hasEnded = false

  take(event: Fields): void {
    this.hasBegun = true
    this.hasEnded ||= isEnd(event)
  }

  get isWhole(): boolean {
    return this.hasEnded || !this.hasBegun
  }

  lastFrames(cutOff: CutOff): Fields[] {
    if (this.hasEnded) return []
    this.hasEnded = true
    return [cutEnd(cutOff)]
  }
}

/** A response that came whole, as the events of its stream, up to its end. */
export function eventsOfResponse(response: Fields): Fields[] {
  const begun = {
    ...response,
    status: 'in_progress',
    output: [],
    usage: null,
    completed_at: null,
    incomplete_details: null,
    error: null,
  }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...listOf(response.output).flatMap((item, index) => eventsOfItem({ item, index })),
    endOfResponse(response),
  ]
}

/** The event that ends a response: all of it. */
export const endOfResponse = (response: Fields): Fields => ({
  type: response.status === 'completed' ? 'response.completed' : 'response.incomplete',
  response,
})
