/**
 * The gateway itself, as a customer's program calls it: with an API key, never with the session.
 */
import type { ChatFields, MediaFields } from './call-forms.ts'
import { PATHS } from './call-forms.ts'
import { Problem } from './client.ts'
import { readEvents } from './event-reader.ts'

/** What a call cost, from its answer's `usage`. */
export type Cost = {
  credits: number
  balance: number
  input_tokens?: number
  output_tokens?: number
  latencyMs?: number
}

type GatewayAnswer = { error?: { type: Problem['code']; message: string } }

/** A call that has begun: its id is known, and its updates come one by one. */
export type BegunCall<Update> = { callId: string | null; updates: AsyncGenerator<Update> }

export type ChatUpdate = { text: string } | { cost: Cost }
export type MediaUpdate = { status: 'queued' | 'running' } | { progress: number } | { urls: string[]; cost: Cost }

async function begin(path: string, key: string, body: object, accept: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(path, {
    method: 'POST',
    signal,
    cache: 'no-store',
    credentials: 'omit',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept },
  })
  if (response.ok && response.body) return response
  throw await problemIn(response)
}

async function problemIn(response: Response): Promise<Problem> {
  const { error } = (await response.json()) as GatewayAnswer
  return new Problem(error?.type ?? 'internal_error', error?.message ?? `The gateway answered ${response.status}.`)
}

/** The stored answer of a call that succeeded, in the API that it was asked in. @throws Problem */
export async function fetchAnswer(key: string, id: string): Promise<Record<string, unknown>> {
  const response = await fetch(`/v1/calls/${encodeURIComponent(id)}`, {
    cache: 'no-store',
    credentials: 'omit',
    headers: { authorization: `Bearer ${key}` },
  })
  if (!response.ok) throw await problemIn(response)
  return (await response.json()) as Record<string, unknown>
}

/** The credits that a call would be charged now. @throws Problem; if the call would be refused, what is wrong */
export async function quote(
  kind: 'chat' | 'image' | 'video',
  key: string,
  body: ChatFields | MediaFields,
  signal: AbortSignal,
): Promise<number> {
  const response = await begin('/v1/quotes', key, { endpoint: PATHS[kind], body }, 'application/json', signal)
  return ((await response.json()) as { credits: number }).credits
}

/** Chats, as a stream. Aborting `signal` stops the model's work. @throws Problem; the generator too. */
export async function chat(key: string, fields: ChatFields, signal: AbortSignal): Promise<BegunCall<ChatUpdate>> {
  const response = await begin(PATHS.chat, key, { ...fields, stream: true }, 'text/event-stream', signal)
  return { callId: response.headers.get('x-call-id'), updates: chatUpdate(response) }
}

type Chunk = GatewayAnswer & { choices?: { delta: { content?: string | null } }[]; usage?: Cost }

async function* chatUpdate(response: Response): AsyncGenerator<ChatUpdate> {
  for await (const { data } of readEvents(response.body!)) {
    if (data === '[DONE]') return
    const { error, choices, usage } = JSON.parse(data) as Chunk
    if (error) throw new Problem(error.type, error.message)
    const text = choices?.[0]?.delta.content
    if (text) yield { text }
    if (usage?.credits !== undefined) yield { cost: usage }
  }
}

/**
 * Makes an image or a video, with updates on its progress. Aborting `signal` disconnects; the call continues. @throws
 * Problem; the generator too.
 */
export async function media(
  kind: 'image' | 'video',
  key: string,
  fields: MediaFields,
  signal: AbortSignal,
): Promise<BegunCall<MediaUpdate>> {
  const response = await begin(PATHS[kind], key, fields, 'text/event-stream', signal)
  return { callId: response.headers.get('x-call-id'), updates: mediaUpdate(response) }
}

type MediaData = GatewayAnswer & {
  status?: 'queued' | 'running'
  progress?: number
  data?: { url: string }[]
  usage?: Cost
}

async function* mediaUpdate(response: Response): AsyncGenerator<MediaUpdate> {
  for await (const { event, data } of readEvents(response.body!)) {
    const update = JSON.parse(data) as MediaData
    if (event === 'error') throw new Problem(update.error!.type, update.error!.message)
    else if (event === 'result') yield { urls: update.data!.map(({ url }) => url), cost: update.usage! }
    else if (event === 'progress') yield { progress: update.progress! }
    else yield { status: update.status! }
  }
}
