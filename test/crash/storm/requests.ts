import type { Reply } from '../../../scripts/harness/http.ts'
import { silence } from '../../shared/media-files/fixtures.ts'
import { PIXEL } from '../../support/pixel.ts'
import type { Asked } from '../clients.ts'
import { chat, image, ranking, video } from '../clients.ts'

type Kind = {
  /** The request with this prompt, which names it in the sandbox's bill. */
  ask: (prompt: string) => Asked
  mayBeSent: number
  isNotStored?: true
  /** It is deleted as soon as its client has an answer: at once, or every other time a moment later. */
  isDeleted?: true
}

/** What is sent again when its worker has died. */
const again = (ask: Kind['ask']): Kind => ({ ask, mayBeSent: 4 })

/** What may be sent once alone. */
const once = (ask: Kind['ask'], more: Partial<Kind> = {}): Kind => ({ ask, mayBeSent: 1, ...more })

const SLOW = ' [delay 200]'
const IN_CHUNKS = ' [chunks 4 20]'
const LENGTH = ' [duration 1.5]'

const chats = (path: string, words = '', more: object = {}): Kind =>
  again((prompt) => ({ ...chat(`${prompt}${words}`, { max_tokens: 1024, ...more }), path }))

/** What is asked for at each path: every kind of call, and each dialect of chats. */
export const KINDS: readonly Kind[] = [
  chats('chat/completions'),
  chats('chat/completions', IN_CHUNKS, { stream: true }),
  chats('messages', '', { model: 'claude' }),
  chats('messages', IN_CHUNKS, { stream: true, max_tokens: 128_000 }),
  ...['generateContent', 'streamGenerateContent?alt=sse'].map((verb) =>
    again((text) => ({
      path: `/v1beta/models/sandbox-chat:${verb}`,
      body: { contents: [{ parts: [{ text: `${text}${IN_CHUNKS}` }] }] },
    })),
  ),
  once(image),
  once((prompt) => image(`${prompt} [pictures 2]`, { n: 3 })),
  chats('chat/completions', SLOW),
  once((prompt) => video(`${prompt}${LENGTH}`)),
  once((prompt) => ({ ...video(`${prompt}${LENGTH}`), path: 'videos' }), { isDeleted: true }),
  once(
    (text) => ({
      path: 'embeddings',
      body: { model: 'sandbox-embedding', input: `${text}${SLOW}`, encoding_format: 'base64' },
    }),
    { isNotStored: true },
  ),
  once((text) => ({ path: 'moderations', body: { input: `${text}${SLOW}` } })),
  once((query) => ranking(`${query}${SLOW}`)),
  once(
    (text) => ({
      path: 'audio/speech',
      body: { model: 'sandbox-speech', voice: 'alloy', input: `${text}${IN_CHUNKS}` },
    }),
    { isNotStored: true },
  ),
  once((prompt) => ({
    path: 'audio/transcriptions',
    body: formOf({ model: 'sandbox-transcription', prompt: `${prompt}${SLOW}` }, 'file', silence(1), ['speech.wav']),
  })),
  once((prompt) => ({
    path: 'images/edits',
    body: formOf({ model: 'sandbox-image', prompt: `${prompt}${SLOW}`, n: '2' }, 'image[]', PICTURE, [
      'a.png',
      'b.png',
    ]),
  })),
]

const PICTURE = Buffer.from(PIXEL, 'base64')

/** A form of texts and of files with these names, all of the same bytes. */
function formOf(texts: Record<string, string>, field: string, bytes: Uint8Array, files: readonly string[]): FormData {
  const form = new FormData()
  for (const [name, text] of Object.entries(texts)) form.append(name, text)
  for (const name of files) form.append(field, new Blob([new Uint8Array(bytes)]), name)
  return form
}

/** A request, and its answer once there is one. */
export type Sent = Kind & { prompt: string; key: string; asked: Asked; reply: Reply | null }
