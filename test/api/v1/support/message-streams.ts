import type { TestAccount } from '../../../../scripts/harness/factories.ts'

type Event = {
  type: string
  delta?: { text?: string; stop_reason?: string }
  usage?: Record<string, number>
  [field: string]: unknown
}

/** A streamed message as its client reads it. */
export type MessageStream = {
  headers: Headers
  /** The events so far. */
  events: () => Event[]
  /** The words so far. */
  words: () => string
  /** Resolves when the stream has ended, in any way. */
  ended: Promise<void>
  /** Closes the connection. */
  leave: () => void
}

/** Begins to stream a message; resolves with the answer's first byte. */
export async function startMessage(
  { url }: { url: string },
  { key }: Pick<TestAccount, 'key'>,
  body: object,
  headers: Record<string, string> = {},
): Promise<MessageStream> {
  const client = new AbortController()
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    signal: client.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ ...body, stream: true }),
  })
  let text = ''
  const events = (): Event[] =>
    [...text.matchAll(/^data: (\{.*\})\n\n/gm)].map(([, json]) => JSON.parse(json!) as Event)
  return {
    headers: response.headers,
    events,
    words: () =>
      events()
        .map(({ delta }) => delta?.text ?? '')
        .join(''),
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
