/** Why servers of OpenAI's kind say that a choice ended. */
import type { EndReason } from '../../../shared/chat/events.ts'

/**
 * Their words, in small letters: OpenAI's, and those of Mistral (`model_length`), Zhipu (`sensitive`,
 * `model_context_window_exceeded`), and gateways that pass on what Claude or Gemini say.
 */
const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'context'],
  ['tool_calls', 'tools'],
  ['tool_use', 'tools'],
  ['function_call', 'tools'],
  ['content_filter', 'refusal'],
  ['sensitive', 'refusal'],
  ['refusal', 'refusal'],
  ['safety', 'refusal'],
  ['prohibited_content', 'refusal'],
])

/** Why a choice ended, by its `finish_reason`. */
export const endReasonOf = (finish: string): EndReason => REASONS.get(finish.toLowerCase()) ?? 'done'
