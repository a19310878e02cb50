/** The dialects that chats are asked in. A new one is a folder, and a line in the list. */
import { completions } from './completions/dialect.ts'
import type { DialectDefinition } from './definition.ts'
import { gemini } from './gemini/dialect.ts'
import { messages } from './messages/dialect.ts'
import { responses } from './responses/dialect.ts'

/**
 * `chat`: OpenAI's chat completions. `messages`: Anthropic's Messages API. `responses`: OpenAI's Responses. `gemini`:
 * Google's Gemini API.
 */
const DEFINITIONS = { chat: completions, messages, responses, gemini } satisfies Record<string, DialectDefinition>

/** The name of a dialect. */
export type Dialect = keyof typeof DEFINITIONS

/** The names of all dialects. */
export const DIALECTS = Object.keys(DEFINITIONS) as [Dialect, ...Dialect[]]

/** A dialect by its name. */
export const dialectOf = (name: Dialect | null = 'chat'): DialectDefinition => DEFINITIONS[name ?? 'chat']
