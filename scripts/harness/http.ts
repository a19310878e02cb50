/** An HTTP answer as tests look at it. */
export type Reply = { status: number; headers: Headers; text: string; json: any } // oxlint-disable-line typescript/no-explicit-any

/** Sends JSON (or a ready text) and reads the whole answer. */
export async function send(
  method: string,
  url: string,
  options: { key?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Reply> {
  const { key, body, headers, signal } = options
  const response = await fetch(url, {
    method,
    signal,
    redirect: 'manual',
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const post = (url: string, key: string, body: unknown, headers?: Record<string, string>): Promise<Reply> =>
  send('POST', url, { key, body, headers })
export const get = (url: string, key?: string, headers?: Record<string, string>): Promise<Reply> =>
  send('GET', url, { key, headers })

/**
 * How long a test waits for what must come, in ms: long beside what it takes on a busy machine, and below the time-out
 * of a test. What is promised within a time is measured by its own test.
 */
const PATIENCE_MS = 30_000

/** Waits until a condition holds, looking often; fails after `ms`. Never a fixed sleep. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  ms = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + ms
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (performance.now() > end) throw new Error(`${what} did not happen within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
