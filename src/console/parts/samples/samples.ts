/**
 * A request as code: in each API that it can be made by, and each language.
 */
import type {
  ChatFields,
  Dialect,
  InputFields,
  MediaFields,
  RerankFields,
  SpeechFields,
  TranscriptionFields,
} from '../../api/call-forms.ts'
import { DIALECT_WORDS } from '../../api/call-forms.ts'
import { speech, transcriptions } from './audio.ts'
import { chatCompletions } from './chat-completions.ts'
import { gemini } from './gemini.ts'
import { embeddings, moderations } from './inputs.ts'
import { messages } from './messages.ts'
import { images, rankings } from './posted.ts'
import { responses } from './responses.ts'
import { videos } from './videos.ts'
import type { Writers } from './write.ts'

/** What is asked for: a chat by the fields of chat completions, everything else by its own. */
export type Example =
  | { kind: 'chat'; fields: ChatFields }
  | { kind: 'image'; fields: MediaFields }
  | { kind: 'video'; fields: MediaFields }
  | { kind: 'embedding' | 'moderation'; fields: InputFields }
  | { kind: 'rerank'; fields: RerankFields }
  | { kind: 'speech'; fields: SpeechFields }
  | { kind: 'transcription'; fields: TranscriptionFields }

/** A request to a model, with the words of a chat, or of what has a prompt or an input. */
export function exampleOf(
  { id, modality }: { id: string; modality: Example['kind'] },
  words: { chat: string; prompt: string },
): Example {
  switch (modality) {
    case 'chat':
      return { kind: 'chat', fields: { model: id, messages: [{ role: 'user', content: words.chat }] } }
    case 'embedding':
    case 'moderation':
      return { kind: modality, fields: { model: id, input: words.prompt } }
    case 'rerank':
      return { kind: 'rerank', fields: { model: id, query: words.prompt, documents: ['A fox.', 'A lighthouse.'] } }
    case 'speech':
      return { kind: 'speech', fields: { model: id, voice: 'alloy', input: words.prompt } }
    case 'transcription':
      return { kind: 'transcription', fields: { model: id, file: 'speech.mp3' } }
    case 'image':
    case 'video':
      return { kind: modality, fields: { model: id, prompt: words.prompt } }
  }
}

/** A request in one API and language. `api`: its name; empty if there is only one. */
export type Sample = { api: string; language: string; code: string }

const CHAT_WRITERS: Readonly<Record<Dialect, Writers<ChatFields>>> = {
  chat: chatCompletions,
  messages,
  responses,
  gemini,
}

const WRITERS = {
  image: images,
  video: videos,
  embedding: embeddings,
  moderation: moderations,
  rerank: rankings,
  speech,
  transcription: transcriptions,
}

function samplesBy<Fields>(writers: Writers<Fields>, fields: Fields, origin: string, api = ''): Sample[] {
  return writers.map(([language, write]) => ({ api, language, code: write(origin, fields) }))
}

/** The samples of a request. @param origin the address of this gateway */
export function samplesOf({ kind, fields }: Example, origin: string): Sample[] {
  return kind === 'chat'
    ? Object.entries(CHAT_WRITERS).flatMap(([dialect, writers]) =>
        samplesBy(writers, fields, origin, DIALECT_WORDS[dialect as Dialect]),
      )
    : samplesBy(WRITERS[kind] as Writers<typeof fields>, fields, origin)
}

/** A request like that of a call, whose own is not stored, as a curl line. */
export function similarCurl(
  { model, modality, dialect }: { model: string; modality: Example['kind']; dialect: Dialect | null },
  origin: string,
): string {
  const example = exampleOf({ id: model, modality }, { chat: '…', prompt: '…' })
  const api = dialect === null ? '' : DIALECT_WORDS[dialect]
  return samplesOf(example, origin).find((one) => one.api === api)!.code
}
