/** What OpenRouter calls the form of a Claude's thoughts in `reasoning_details`: its docs, "Reasoning tokens". */
export const CLAUDE_THOUGHTS = 'anthropic-claude-v1'
