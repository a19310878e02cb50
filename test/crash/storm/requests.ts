import type { Reply } from '../../../scripts/harness/http.ts'

/** Request bodies by kind; each prompt names its request in the sandbox's bill. */
export const KINDS: readonly {
  path: string
  body: (prompt: string) => object
  mayBeSent: number
  isNotStored?: true
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
    path: 'embeddings',
    body: (input) => ({ model: 'sandbox-embedding', input: `${input} [delay 200]`, encoding_format: 'base64' }),
    mayBeSent: 1,
    isNotStored: true,
  },
]

/** A request, and its answer once there is one. */
export type Sent = {
  prompt: string
  key: string
  mayBeSent: number
  isNotStored?: true | undefined
  reply: Reply | null
}
