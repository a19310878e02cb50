/**
 * From an answer of the Messages API to a chat completion of OpenAI's kind.
 */
import { randomUUID } from 'node:crypto'
import type { ChatCompletion } from '../../../shared/calls/answers.ts'
import type { ChatResult, UpstreamUsage } from '../adapter.ts'
import { AnswerTooLong } from '../adapter.ts'
import { readCut } from '../cut-json.ts'
import { billed, failureIn, malformedAnswer } from '../failures.ts'
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { anthropicUsage } from '../usage.ts'

const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** OpenAI's finish_reason for a stop_reason; `stop` for one that nobody knows yet. */
export const finishOf = (reason: unknown): string => (typeof reason === 'string' ? FINISH[reason] : undefined) ?? 'stop'

/**
 * A model may have nothing to say: with a reason to stop and a usage that is an answer, and was billed.
 * @throws UpstreamError `unknown` for an answer of no blocks and nothing else either, except where the model refused
 */
export function requireBlocks(count: number, reason: unknown, usage: UpstreamUsage | null): void {
  if (count > 0 || finishOf(reason) === 'content_filter' || (isText(reason) && usage !== null)) return
  throw malformedAnswer('the answer is empty')
}

/** An answer that comes whole, or what was taken of one that is too long. @throws UpstreamError where it is none */
export async function resultOf(read: () => Promise<Fields>): Promise<ChatResult> {
  let answer: Fields
  try {
    answer = await read()
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error
    return { completion: completionOf({ ...readCut(error.text), stop_reason: 'max_tokens' }), usage: null, isCut: true }
  }
  const usage = anthropicUsage(answer.usage)
  return billed(usage, () => {
    const failure = failureIn(answer)
    if (failure) throw failure
    return { completion: completionOf(answer), usage }
  })
}

/** What answers have in common with chunks. */
export const headOf = ({ id, model }: Fields): { id: string; created: number; model: unknown } => ({
  id: isText(id) ? id : `msg_${randomUUID()}`,
  created: Math.floor(Date.now() / 1000),
  model,
})

/** The completion that an answer is. @throws UpstreamError `unknown` for an answer without content */
export function completionOf(answer: Fields): ChatCompletion {
  const { content, stop_reason: reason } = answer
  if (!Array.isArray(content)) throw malformedAnswer('the answer has no content')
  requireBlocks(content.length, reason, anthropicUsage(answer.usage))
  const blocks = content.map(asFields)
  const text = joined(blocks, 'text', 'text')
  const thoughts = joined(blocks, 'thinking', 'thinking')
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input ?? {}) },
    }))
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(reason) }
  return { ...headOf(answer), object: 'chat.completion', choices: [choice] }
}

function joined(blocks: Fields[], type: string, field: string): string {
  const texts = blocks.filter((block) => block.type === type).map((block) => block[field])
  if (!texts.every((text) => typeof text === 'string')) throw malformedAnswer('a block has a content that is no text')
  return texts.join('')
}
