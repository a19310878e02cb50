import type { Reply } from '../../../scripts/harness/http.ts'
import { silence } from '../../shared/media-files/fixtures.ts'
import { PIXEL } from '../../support/pixel.ts'

/** Request bodies by kind; each prompt names its request in the sandbox's bill. */
export const KINDS: readonly {
  path: string
  body: (prompt: string) => object
  mayBeSent: number
  isNotStored?: true
  /** It is deleted as soon as its client has an answer: at once, or every other time a moment later. */
  isDeleted?: true
}[] = [
  {
    path: 'chat/completions',
    body: (content) => ({ model: 'sandbox-chat', messages: [{ role: 'user', content }] }),
    mayBeSent: 4,
  },
  {
    path: 'chat/completions',
    body: (content) => ({
      model: 'sandbox-chat',
      stream: true,
      messages: [{ role: 'user', content: `${content} [chunks 4 20]` }],
    }),
    mayBeSent: 4,
  },
  {
    path: 'messages',
    body: (content) => ({ model: 'sandbox-claude', max_tokens: 1024, messages: [{ role: 'user', content }] }),
    mayBeSent: 4,
  },
  {
    path: 'messages',
    body: (content) => ({
      model: 'sandbox-chat',
      max_tokens: 128_000,
      stream: true,
      messages: [{ role: 'user', content: `${content} [chunks 4 20]` }],
    }),
    mayBeSent: 4,
  },
  ...(['generateContent', 'streamGenerateContent?alt=sse'] as const).map((verb) => ({
    path: `models/sandbox-chat:${verb}`,
    body: (text: string) => ({ contents: [{ parts: [{ text: `${text} [chunks 4 20]` }] }] }),
    mayBeSent: 4,
  })),
  { path: 'images/generations', body: (prompt) => ({ model: 'sandbox-image', prompt }), mayBeSent: 1 },
  {
    path: 'images/generations',
    body: (prompt) => ({ model: 'sandbox-image', prompt: `${prompt} [pictures 2]`, n: 3 }),
    mayBeSent: 1,
  },
  {
    path: 'chat/completions',
    body: (content) => ({ model: 'sandbox-chat', messages: [{ role: 'user', content: `${content} [delay 200]` }] }),
    mayBeSent: 4,
  },
  {
    path: 'videos/generations',
    body: (prompt) => ({ model: 'sandbox-video', prompt: `${prompt} [duration 1.5]` }),
    mayBeSent: 1,
  },
  {
    path: 'videos',
    body: (prompt) => ({ model: 'sandbox-video', prompt: `${prompt} [duration 1.5]` }),
    mayBeSent: 1,
    isDeleted: true,
  },
  {
    path: 'embeddings',
    body: (input) => ({ model: 'sandbox-embedding', input: `${input} [delay 200]`, encoding_format: 'base64' }),
    mayBeSent: 1,
    isNotStored: true,
  },
  { path: 'moderations', body: (input) => ({ input: `${input} [delay 200]` }), mayBeSent: 1 },
  {
    path: 'rerank',
    body: (query) => ({ model: 'sandbox-rerank', query: `${query} [delay 200]`, documents: ['a', 'b'] }),
    mayBeSent: 1,
  },
  {
    path: 'audio/speech',
    body: (input) => ({ model: 'sandbox-speech', voice: 'alloy', input: `${input} [chunks 4 20]` }),
    mayBeSent: 1,
    isNotStored: true,
  },
  { path: 'audio/transcriptions', body: (prompt) => soundForm(`${prompt} [delay 200]`), mayBeSent: 1 },
  { path: 'images/edits', body: (prompt) => picturesForm(`${prompt} [delay 200]`), mayBeSent: 1 },
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
export type Sent = {
  prompt: string
  key: string
  mayBeSent: number
  isNotStored?: true | undefined
  isDeleted?: true | undefined
  reply: Reply | null
}
