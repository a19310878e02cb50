/** Answers of the Messages API: their frames are its events. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import { writtenOver } from '../../platform/json-edits.ts'
import type { Fields } from '../../platform/fields.ts'
import { saysAnything } from '../deltas.ts'
import type { Tokens } from '../../terms/pricing.ts'
import { tokensOfWords } from '../../requests/token-count.ts'
import type { AnswerForm, Completion } from '../answer-form.ts'
import type { CutOff } from '../assembly.ts'
import { typeOfLine } from '../answer-form.ts'
import { eventsOfBlock } from './blocks.ts'
import { CUT, MessageAssembly, wordsInEvent } from './join-frames.ts'

/** How answers of the Messages API are read, joined, counted and stored. */
export const messagesForm: AnswerForm = {
  assemble: (maxBytes) => new MessageAssembly(maxBytes),
  completion: () => new MessageCompletion(),
  begins: ({ type, delta, content_block: block }) => {
    const { type: _type, ...words } = asFields(type === 'content_block_start' ? block : delta)
    return type !== 'message_start' && type !== 'content_block_stop' && saysAnything(words)
  },
  reasons: ({ delta, content_block: block }) =>
    [delta, block].map((one) => asFields(one).type).some((type) => isText(type) && /thinking/.test(type)),
  written: (event, model, line) => {
    const { type, message, ...rest } = event
    if (message !== undefined) return JSON.stringify({ type, message: { ...asFields(message), model }, ...rest })
    if (line === undefined || Object.keys(rest).length === 0) return JSON.stringify({ type, ...rest })
    if (typeOfLine(line) === type) return line
    return `{"type":${JSON.stringify(type)},${writtenOver(line, event, rest).slice(1)}`
  },
  count: ({ content }) =>
    tokensOfWords(
      listOf(content)
        .map((block) => wordsInEvent({ type: 'content_block_start', content_block: block }))
        .reduce((sum, words) => sum + words, 0),
    ),
  output: (answer, model, tokens) => {
    const { id, type, role, model: _model, content, usage: _usage, ...rest } = answer
    return JSON.stringify({ id, type, role, model, content, ...rest, usage: usageOf(tokens) })
  },
}

/** The usage of an answer in Anthropic's terms: no input is in two of the three input counts. */
const usageOf = ({ input, cached = 0, written = 0, output }: Tokens) => ({
  input_tokens: input,
  cache_creation_input_tokens: written,
  cache_read_input_tokens: cached,
  output_tokens: output,
})

/** Which blocks are open, and whether the message has its reason to stop. */
class MessageCompletion implements Completion {
  private readonly open = new Set<unknown>()
  private hasBegun = false
  private hasReason = false

  take({ type, index, delta }: Fields): void {
    this.hasBegun = true
    if (type === 'content_block_start') this.open.add(index)
    else if (type === 'content_block_stop') this.open.delete(index)
    else if (type === 'message_delta') this.hasReason ||= isText(asFields(delta).stop_reason)
  }

  get isWhole(): boolean {
    return this.hasReason || !this.hasBegun
  }

  lastFrames(cutOff: CutOff): Fields[] {
    if (this.hasReason) return []
    this.hasReason = true
    const stops = [...this.open].map((index) => ({ type: 'content_block_stop', index }))
    this.open.clear()
    const delta = { stop_reason: CUT[cutOff], stop_sequence: null }
    return [...stops, { type: 'message_delta', delta, usage: { output_tokens: 0 } }]
  }
}

/** A message that came whole, as the events of its stream. One without a reason to stop has no end. */
export function eventsOfMessage(message: Fields): Fields[] {
  const { content, stop_reason: reason, stop_sequence: sequence, usage, ...head } = message
  const start = { ...head, content: [], stop_reason: null, stop_sequence: null, usage }
  const delta = { stop_reason: reason, stop_sequence: sequence ?? null }
  return [
    { type: 'message_start', message: start },
    ...listOf(content).flatMap((block, index) => [
      ...eventsOfBlock(block, index),
      { type: 'content_block_stop', index },
    ]),
    ...(isText(reason) ? [{ type: 'message_delta', delta, usage }] : []),
  ]
}
