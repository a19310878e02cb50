/**
 * A request as code: in each API that it can be made by, and each language.
 */
import type { ChatFields, Dialect, MediaFields } from '../../api/call-forms.ts'
import { DIALECT_WORDS } from '../../api/call-forms.ts'
import { chatCompletions } from './chat-completions.ts'
import { mediaOf } from './media.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import type { Writers } from './write.ts'

/** What is asked for: by the fields of chat completions, or those of images and videos. */
export type Example = { kind: 'chat'; fields: ChatFields } | { kind: 'image' | 'video'; fields: MediaFields }

/** A request in one API and language. `api`: its name; empty where there is only one. */
export type Sample = { api: string; language: string; code: string }

const CHAT_WRITERS: Readonly<Record<Dialect, Writers<ChatFields>>> = {
  chat: chatCompletions,
  messages,
  responses,
}

function samplesBy<Fields>(writers: Writers<Fields>, fields: Fields, origin: string, api = ''): Sample[] {
  return writers.map(([language, write]) => ({ api, language, code: write(origin, fields) }))
}

/** The samples of a request. @param origin the address of this gateway */
export const samplesOf = ({ kind, fields }: Example, origin: string): Sample[] =>
  kind === 'chat'
    ? Object.entries(CHAT_WRITERS).flatMap(([dialect, writers]) =>
        samplesBy(writers, fields, origin, DIALECT_WORDS[dialect as Dialect]),
      )
    : samplesBy(mediaOf(kind), fields, origin)

/** A request like that of a call, whose own is not stored, as a curl line. */
export function similarCurl(
  { model, modality, dialect }: { model: string; modality: Example['kind']; dialect: Dialect | null },
  origin: string,
): string {
  const example: Example =
    modality === 'chat'
      ? { kind: 'chat', fields: { model, messages: [{ role: 'user', content: '…' }] } }
      : { kind: modality, fields: { model, prompt: '…' } }
  const api = dialect === null ? '' : DIALECT_WORDS[dialect]
  return samplesOf(example, origin).find((one) => one.api === api)!.code
}
