/**
 * From an answer of the Messages API to a chat completion of OpenAI's kind.
 */
import { randomUUID } from 'node:crypto'
import type { ChatCompletion, UpstreamUsage } from '../adapter.ts'
import { nonsense } from '../failures.ts'
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { checkedUsage } from '../usage.ts'

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

/** @throws UpstreamError `unknown` for an answer of no blocks at all, except where the model refused */
export function requireBlocks(count: number, reason: unknown): void {
  if (count === 0 && finishOf(reason) !== 'content_filter') throw nonsense('the answer is empty')
}

/** What answers have in common with chunks. */
export const headOf = ({ id, model }: Fields): { id: string; created: number; model: unknown } =>
  ({ id: isText(id) ? id : `msg_${randomUUID()}`, created: Math.floor(Date.now() / 1000), model })

/** The completion that an answer is. @throws UpstreamError `unknown` for an answer without content */
export function completionOf(answer: Fields): ChatCompletion {
  const { content, stop_reason: reason } = answer
  if (!Array.isArray(content)) throw nonsense('the answer has no content')
  requireBlocks(content.length, reason)
  const blocks = content.map(asFields)
  const text = joined(blocks, 'text', 'text')
  const thoughts = joined(blocks, 'thinking', 'thinking')
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) =>
    ({ id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }))
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
  if (!texts.every((text) => typeof text === 'string')) throw nonsense('a block has a content that is no text')
  return texts.join('')
}

/** The usage in Anthropic's `usage`. What was read from or written to a cache is input too, and stands apart there. */
export function usageOf(usage: unknown): UpstreamUsage | null {
  const { input_tokens: input, output_tokens: output, output_tokens_details: details, ...caches } = asFields(usage)
  const written = caches.cache_creation_input_tokens ?? 0
  const read = caches.cache_read_input_tokens ?? 0
  const counts = [input, written, read]
  if (!counts.every((count) => typeof count === 'number' && count >= 0)) return null
  const total = (counts as number[]).reduce((sum, count) => sum + count, 0)
  const thoughts = asFields(details).thinking_tokens
  return checkedUsage(total, output, {
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(thoughts !== undefined && { completion_tokens_details: { reasoning_tokens: thoughts } }),
  })
}
