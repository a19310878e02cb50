import { randomUUID } from 'node:crypto'
import { request } from 'undici'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox, SandboxOptions } from '../../../sandbox/server.ts'

/** An answer as it was received. */
export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON; throws for anything else. */
  readonly json: () => Fields
}

/** Parsed JSON of any shape. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Fields = Record<string, any>

export interface Sending {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly json?: unknown
  readonly body?: string | FormData
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

/** Sends a request and reads the whole answer. `url` is absolute. */
export async function send(url: string, { method, json, body, headers, signal }: Sending = {}): Promise<Answer> {
  // Encoded by the platform, because undici's request() accepts only its own FormData.
  const encoded = body instanceof FormData ? new Response(body) : undefined
  const type = encoded?.headers.get('content-type') ?? 'application/json'
  const payload = encoded ? Buffer.from(await encoded.arrayBuffer()) : ((body as string) ?? JSON.stringify(json))
  const answer = await request(url, {
    method: method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: { ...(payload !== undefined && { 'content-type': type }), ...headers },
    body: payload,
    signal,
    headersTimeout: PATIENCE_MS,
    bodyTimeout: PATIENCE_MS,
  })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  const text = bytes.toString('utf8')
  return { status: answer.statusCode, headers: answer.headers, bytes, text, json: () => JSON.parse(text) as Fields }
}

/** Starts a sandbox for a suite, with short tasks. */
export function useSandbox(options: SandboxOptions = {}): { readonly url: string; readonly sandbox: Sandbox } {
  let sandbox: Sandbox | undefined
  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.05, imageSeconds: 0.05, ...options })
  })
  after(() => sandbox?.close())
  return {
    get url() {
      return sandbox!.url
    },
    get sandbox() {
      return sandbox!
    },
  }
}

/** A unique prompt, with these steering words. */
export function prompted(words = ''): string {
  return `${randomUUID()} ${words}`.trim()
}

/** The data of server-sent events; `[DONE]` stays text. */
export function eventsOf(text: string): (Fields & string)[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((block) => {
      const data = block
        .split('\n')
        .find((line) => line.startsWith('data: '))!
        .slice(6)
      return data === '[DONE]' ? data : JSON.parse(data)
    })
}

/** The transport error of a call. */
export async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (failure) {
    return (failure as { code?: string }).code ?? String(failure)
  }
  return 'none'
}
