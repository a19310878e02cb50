/** For each dialect, requests that ask for one thing each, and how upstreams of other dialects are asked for it. */
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { CHAT, CHAT_TEXT_FILE } from './chat.ts'
import { MESSAGES, MESSAGES_TEXT_FILE } from './messages.ts'
import { RESPONSES, RESPONSES_TEXT_FILE } from './responses.ts'
import type { Sample } from './sample.ts'

/** The requests of each dialect. */
export const SAMPLES: Readonly<Record<Dialect, readonly Sample[]>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
}

/** Files that are texts, as each dialect has them: every upstream is sent their words. */
export const TEXT_FILES: Readonly<Record<Dialect, Fields>> = {
  chat: CHAT_TEXT_FILE,
  messages: MESSAGES_TEXT_FILE,
  responses: RESPONSES_TEXT_FILE,
}
