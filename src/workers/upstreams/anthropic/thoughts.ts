/**
 * Thoughts of a Claude, as clients keep them and send them back: the API wants them as they were, signed or encrypted,
 * in front of the calls of tools that they led to.
 */
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'

/** What OpenRouter calls the form of these thoughts in `reasoning_details`. */
export const THOUGHT_FORMAT = 'anthropic-claude-v1'

/** The blocks that a message's `reasoning_details` were; none for those of another model, which cannot be verified. */
export function thoughtBlocks(details: unknown): Fields[] {
  if (!Array.isArray(details)) return []
  return details.map(asFields).flatMap(({ type, format, text, signature, data }): Fields[] => {
    if (format !== THOUGHT_FORMAT) return []
    if (type === 'reasoning.encrypted' && isText(data)) return [{ type: 'redacted_thinking', data }]
    return type === 'reasoning.text' && isText(signature)
      ? [{ type: 'thinking', thinking: isText(text) ? text : '', signature }]
      : []
  })
}
