/**
 * The dialects that chats are asked in, and what each makes of its requests and answers.
 */
import type { ChatRequest } from '../requests/requests.ts'
import type { AnswerForm } from './answer-form.ts'
import type { CanonicalChat } from './canonical.ts'
import { chatForm } from './chat/answer.ts'
import { canonicalChat } from './chat/canonical.ts'
import { ChunkEncoder } from './chat/chunks.ts'
import type { AnswerEncoder } from './events.ts'
import { messagesForm } from './messages/answer.ts'
import { canonicalMessages } from './messages/canonical.ts'
import { MessageEncoder } from './messages/events.ts'

/** `chat`: OpenAI's chat completions. `messages`: Anthropic's Messages API. */
export const DIALECTS = ['chat', 'messages'] as const
/** A dialect that chats are asked in. */
export type Dialect = (typeof DIALECTS)[number]

/** What a dialect makes of its requests and answers. */
type Grammar = {
  canonical: (request: ChatRequest) => CanonicalChat
  /** @param inputTokens the input that a stream names at its beginning, where its dialect does that */
  encoder: (inputTokens: number) => AnswerEncoder
  answers: AnswerForm
}

const GRAMMARS: Readonly<Record<Dialect, Grammar>> = {
  chat: { canonical: canonicalChat, encoder: () => new ChunkEncoder(), answers: chatForm },
  messages: {
    canonical: canonicalMessages,
    encoder: (inputTokens) => new MessageEncoder(inputTokens),
    answers: messagesForm,
  },
}

/** What a dialect makes of its requests and answers. */
export const grammarOf = (dialect: Dialect = 'chat'): Grammar => GRAMMARS[dialect]
