import { Readable } from 'node:stream'
import type { ChatResult } from '../../../src/workers/upstreams/adapter.ts'
import { chatForm } from '../../../src/shared/chat/completions/answer.ts'
import type { AnswerBody } from '../../../src/workers/upstreams/reader.ts'
import type { Translation } from '../../../src/workers/upstreams/translation.ts'
import { collected, readChat } from '../../../src/workers/upstreams/translation.ts'
import { drained } from './sandbox-upstreams.ts'

/** The body of an answer, as it would come over a connection in these pieces. */
export function bodyOf(pieces: Iterable<Uint8Array | string>, changes: Partial<AnswerBody> = {}): AnswerBody {
  const parts = [...pieces].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  return {
    source: Readable.from(parts),
    failure: (error) => {
      throw error
    },
    maxBytes: 1_000_000,
    isChat: true,
    release: () => {},
    ...changes,
  }
}

/** The text of a stream of events: of these values as JSON, and of texts as they are. */
export const streamOf = (...values: unknown[]): string =>
  values.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('')

/** What is in an answer, event by event, and the error that it ends with. */
export const eventsIn = (translation: Translation, ...pieces: string[]) =>
  drained((take) => readChat(bodyOf(pieces), translation, {}, take))

/** What is in an answer, put together. */
export const answerIn = (translation: Translation, ...pieces: string[]): Promise<ChatResult> =>
  collected((take) => readChat(bodyOf(pieces), translation, {}, take), chatForm, 1_000_000)
