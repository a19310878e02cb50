import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { CHAT } from '../../../scripts/harness/calling.ts'
import type { Asking, Target } from './targets.ts'
import { bodyOf } from './targets.ts'

type Chunk = {
  id: string
  object: string
  created: number
  model: string
  choices: {
    index: number
    delta: { role?: string; content?: string | null; tool_calls?: object[]; [field: string]: unknown }
    finish_reason: string | null
  }[]
  usage?: Record<string, unknown>
  /** The last line of a stream that broke. */
  error?: { type: string; message: string }
}

/** A chat stream as its client reads it. */
export type ChatStream = {
  status: number
  headers: Headers
  /** The raw text so far. */
  text: () => string
  /** The parsed `data:` lines so far, without `[DONE]`. */
  chunks: () => Chunk[]
  /** The content of all chunks so far. */
  content: () => string
  /** The last line so far. */
  last: () => string | undefined
  /** Resolves when the stream has ended, in any way. */
  ended: Promise<void>
  /** Closes the connection. */
  leave: () => void
}

/** Begins to stream a chat; resolves with the answer's first byte. */
export async function startStream(
  web: Pick<TestWeb, 'url'>,
  { key }: TestAccount,
  target: Target,
  prompt: string,
  asking: Asking = {},
): Promise<ChatStream> {
  const client = new AbortController()
  const response = await fetch(`${web.url}${CHAT}`, {
    method: 'POST',
    signal: client.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...asking.headers },
    body: JSON.stringify({ ...bodyOf(target, prompt, asking), stream: true }),
  })
  let text = ''
  // Complete events alone. A sign of life is a comment line without a blank line behind it.
  const lines = (): string[] =>
    text
      .replaceAll(/^:.*\n/gm, '')
      .split('\n\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('data: '))
      .map((line) => line.slice(6))
  const chunks = (): Chunk[] =>
    lines()
      .filter((line) => line !== '[DONE]')
      .map((line) => JSON.parse(line) as Chunk)
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    chunks,
    content: () =>
      chunks()
        .map(({ choices }) => choices?.[0]?.delta.content ?? '')
        .join(''),
    last: () => lines().at(-1),
    ended: drain(response, (piece) => {
      text += piece
    }),
    leave: () => client.abort(),
  }
}

async function drain({ body }: Response, onPiece: (piece: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  try {
    for await (const piece of body!) onPiece(decoder.decode(piece as Uint8Array, { stream: true }))
  } catch {
    // Cut off by either side: `text` has what arrived.
  }
}
