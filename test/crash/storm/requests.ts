import type { Reply } from '../../../scripts/harness/http.ts'
import { silence } from '../../shared/media-files/fixtures.ts'
import { PIXEL } from '../../support/pixel.ts'

type Kind = {
  path: string
  body: (prompt: string) => object
  mayBeSent: number
  isNotStored?: true
  /** It is deleted as soon as its client has an answer: at once, or every other time a moment later. */
  isDeleted?: true
}

/** What may be sent once alone. */
const once = (path: string, body: Kind['body'], more: Partial<Kind> = {}): Kind => ({
  path,
  body,
  mayBeSent: 1,
  ...more,
})

/** What is sent again when its worker has died. */
const chat = (path: string, words = '', more: object = {}): Kind => ({
  path,
  body: (prompt) => ({
    model: 'sandbox-chat',
    max_tokens: 1024,
    messages: [{ role: 'user', content: `${prompt}${words}` }],
    ...more,
  }),
  mayBeSent: 4,
})

const image = (words: string, more: object = {}): Kind =>
  once('images/generations', (prompt) => ({ model: 'sandbox-image', prompt: `${prompt}${words}`, ...more }))

const video = (path: string, more: Partial<Kind> = {}): Kind =>
  once(path, (prompt) => ({ model: 'sandbox-video', prompt: `${prompt} [duration 1.5]` }), more)

const SLOW = ' [delay 200]'
const IN_CHUNKS = ' [chunks 4 20]'

/** Request bodies by kind; each prompt names its request in the sandbox's bill. */
export const KINDS: readonly Kind[] = [
  chat('chat/completions'),
  chat('chat/completions', IN_CHUNKS, { stream: true }),
  chat('messages', '', { model: 'claude' }),
  chat('messages', IN_CHUNKS, { stream: true, max_tokens: 128_000 }),
  ...['generateContent', 'streamGenerateContent?alt=sse'].map((verb) => ({
    path: `models/sandbox-chat:${verb}`,
    body: (text: string) => ({ contents: [{ parts: [{ text: `${text}${IN_CHUNKS}` }] }] }),
    mayBeSent: 4,
  })),
  image(''),
  image(' [pictures 2]', { n: 3 }),
  chat('chat/completions', SLOW),
  video('videos/generations'),
  video('videos', { isDeleted: true }),
  once('embeddings', (input) => ({ model: 'sandbox-embedding', input: `${input}${SLOW}`, encoding_format: 'base64' }), {
    isNotStored: true,
  }),
  once('moderations', (input) => ({ input: `${input}${SLOW}` })),
  once('rerank', (query) => ({ model: 'sandbox-rerank', query: `${query}${SLOW}`, documents: ['a', 'b'] })),
  once('audio/speech', (input) => ({ model: 'sandbox-speech', voice: 'alloy', input: `${input}${IN_CHUNKS}` }), {
    isNotStored: true,
  }),
  once('audio/transcriptions', (prompt) => soundForm(`${prompt}${SLOW}`)),
  once('images/edits', (prompt) => picturesForm(`${prompt}${SLOW}`)),
]

const SOUND = new Uint8Array(silence(1))

function soundForm(prompt: string): FormData {
  const form = new FormData()
  form.append('model', 'sandbox-transcription')
  form.append('prompt', prompt)
  form.append('file', new Blob([SOUND]), 'speech.wav')
  return form
}

/** Several pictures to be edited into several. */
function picturesForm(prompt: string): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ model: 'sandbox-image', prompt, n: '2' })) form.append(name, value)
  for (const name of ['a.png', 'b.png']) form.append('image[]', new Blob([Buffer.from(PIXEL, 'base64')]), name)
  return form
}

/** A request, and its answer once there is one. */
export type Sent = Kind & { prompt: string; key: string; sends: object; reply: Reply | null }
