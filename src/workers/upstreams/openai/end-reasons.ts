/** Why servers of OpenAI's kind say that a choice ended. */
import { FINISH } from '../../../shared/chat/completions/write-frames.ts'
import type { EndReason } from '../../../shared/chat/events.ts'

/**
 * Their words, in small letters: OpenAI's, and those of DeepSeek (`insufficient_system_resource`), Mistral
 * (`model_length`), Zhipu (`sensitive`, `model_context_window_exceeded`), and gateways that pass on what Claude or
 * Gemini say.
 */
const REASONS: ReadonlyMap<string, EndReason> = new Map([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'context'],
  ['insufficient_system_resource', 'length'],
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

const OPENAIS: ReadonlySet<string> = new Set([...Object.values(FINISH), 'function_call'])

/** The `finish_reason` in OpenAI's words. @param whole what it is where the answer is whole */
export function openaisFinish(finish: string, whole: string): string {
  if (OPENAIS.has(finish)) return finish
  const reason = endReasonOf(finish)
  return reason === 'done' ? whole : FINISH[reason]
}
