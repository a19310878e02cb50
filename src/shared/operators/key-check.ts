/** Whether an upstream takes its key: asked by a request that costs nothing, with the client that calls use. */
import type { Dispatcher } from 'undici'
import { request } from 'undici'
import type { Authorize } from '../catalogue/authorization.ts'
import { anthropicKey, bearer, falKey, googleKey } from '../catalogue/authorization.ts'
import type { Protocol, Upstream } from '../catalogue/catalogue.ts'
import { sentenceOf } from '../platform/process/log.ts'

/** The upstream's reaction. `says` is for operators. `status`: of HTTP; null if it did not answer. */
export type KeyCheck = { ok: boolean; status: number | null; says: string }

// No such request: fal checks the key first, and offers no other free request.
const FAL_REQUEST = '/fal-ai/flux/requests/00000000-0000-0000-0000-000000000000/status'

/** The question of a protocol: a path below the upstream's address, and how the key is presented. */
const QUESTIONS: Record<Protocol, { path: (base: string) => string; authorize: Authorize }> = {
  openai: { path: () => '/models', authorize: bearer },
  anthropic: {
    path: (base) => (base.endsWith('/v1') ? '/models' : '/v1/models'),
    authorize: (key) => ({ ...anthropicKey(key), 'anthropic-version': '2023-06-01' }),
  },
  responses: { path: () => '/models', authorize: bearer },
  gemini: { path: (base) => (/\/v\d+\w*$/.test(base) ? '/models' : '/v1beta/models'), authorize: googleKey },
  fal: { path: () => FAL_REQUEST, authorize: falKey },
  replicate: { path: () => '/account', authorize: bearer },
  openrouter: { path: () => '/key', authorize: bearer },
}

/**
 * Asks an upstream. A server that answers, and knows no such question, is taken as well.
 * @param patienceMs how long it may take
 */
export async function checkKey(
  { protocol, baseUrl, apiKey, headers }: Pick<Upstream, 'protocol' | 'baseUrl' | 'apiKey' | 'headers'>,
  patienceMs: number,
): Promise<KeyCheck> {
  const { path, authorize } = QUESTIONS[protocol]
  try {
    const { statusCode: status, body } = await request(`${baseUrl}${path(baseUrl)}`, {
      headers: { ...headers, ...(apiKey !== null && authorize(apiKey)) },
      signal: AbortSignal.timeout(patienceMs),
    })
    const isRefused = status === 400 ? await namesKey(body) : status === 401 || status === 403
    if (status !== 400) await body.dump()
    if (isRefused) return { ok: false, status, says: `refuses the key (${status})` }
    if (status >= 500) return { ok: false, status, says: `answers ${status}` }
    if (status >= 200 && status < 300)
      return { ok: true, status, says: apiKey === null ? 'answers' : 'accepts the key' }
    return { ok: true, status, says: `answers ${status}: does not refuse the key` }
  } catch (error) {
    return { ok: false, status: null, says: `does not answer: ${sentenceOf(error)}` }
  }
}

/** How Google refuses a key, within an answer of 400. */
const REFUSED_KEY = 'API_KEY_INVALID'

/** The most bytes of an answer that are searched. */
const SEARCHED_BYTES = 16 * 1024

/** Whether the beginning of a refusal is about the key. */
async function namesKey(body: Dispatcher.ResponseData['body']): Promise<boolean> {
  let text = ''
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    text += String(Buffer.from(piece))
    if (text.length > SEARCHED_BYTES || text.includes(REFUSED_KEY)) break
  }
  return text.includes(REFUSED_KEY)
}
