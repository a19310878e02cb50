/** An HTTP answer as tests read it. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Reply = { status: number; headers: Headers; text: string; json: any }

/** Sends JSON, or a string or a form as it is, and reads the whole answer. @throws the reason if none comes */
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
      ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: isReady(body) ? body : JSON.stringify(body),
  }).catch((error: unknown) => {
    // The reason of a failed fetch is its cause, which mocha does not print.
    if (error instanceof TypeError) error.message += ` (${method} ${url}: ${String(error.cause)})`
    throw error
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

const isReady = (body: unknown): body is string | Uint8Array<ArrayBuffer> | FormData | undefined =>
  body === undefined || typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData

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

/** Sends JSON, and returns once the head of the answer has come: its body is left to the caller. */
export const begin = (
  url: string,
  key: string,
  body: unknown,
  { headers, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(body),
  })
