/** One download: the redirects on its way, and the limits of its body. */
import type { Agent, Dispatcher } from 'undici'
import { request } from 'undici'
import { hasUsualPort, namesPublicHost } from '../../shared/requests/addresses.ts'
import type { MediaKind } from '../../shared/media/media.ts'
import { NOTHING, started } from '../storage/inspect.ts'
import { notPublic } from './connections.ts'
import type { Deadline } from './deadline.ts'
import { startDeadline, unlessAborted } from './deadline.ts'
import { FetchFailed, toFetchFailed } from './failure.ts'

/** The largest file that is fetched, in bytes, by its kind. */
export const MAX_BYTES: Record<MediaKind, number> = { image: 50 * 1024 * 1024, video: 512 * 1024 * 1024 }

/** Time limits in ms. `idle` is between two pieces of a body, `total` from the first look-up to the last byte. */
export type FetchTimeouts = { connect: number; firstByte: number; idle: number; total: number }

const MAX_REDIRECTS = 3

/** What is asked of a download. */
export type DownloadOptions = {
  kind: MediaKind
  /** The most bytes; by default `MAX_BYTES` of the kind. */
  maxBytes?: number
  /** Headers for the address's own origin, such as a key. No redirect carries them to another. */
  headers?: Record<string, string>
  /**
   * The configured origins of the upstream whose result this is, as `new URL(baseUrl).origin` spells them. They alone
   * may have addresses that are not public. Never given for an address that a customer named.
   */
  trustedOrigins?: readonly string[]
  signal: AbortSignal
}

/** An answer whose body has begun. The caller must close it if it does not read the whole body. */
export type Download = {
  /** What the server declares. Only for logs: the type is decided from the bytes. */
  declaredType: string | null
  /** How many bytes the server declares; null if it does not. */
  declaredBytes: number | null
  /** The bytes. It throws instead of ending where they are too many or do not all come. */
  body: AsyncGenerator<Uint8Array, void, void>
}

/** The connections to the public internet, and those to configured upstreams. */
export type Agents = { public: Agent; trusted: Agent }

type Answer = Dispatcher.ResponseData

/**
 * Opens an http(s) address and returns when the body begins.
 * @throws FetchFailed, or the signal's reason once that has aborted
 */
export async function download(
  agents: Agents,
  limits: FetchTimeouts,
  url: string,
  options: DownloadOptions,
): Promise<Download> {
  const deadline = startDeadline(options.signal, limits.total)
  try {
    const answer = await followed(agents, limits, parseUrl(url), options, deadline.signal)
    return await accepted(answer, options, deadline)
  } catch (error) {
    deadline.release()
    throw failureOf(error, deadline.signal)
  }
}

function failureOf(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : toFetchFailed(error)
}

/** An http(s) URL without credentials. @throws FetchFailed `refused` for everything else */
export function parseUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new FetchFailed('refused', 'The address cannot be read.')
  const url = new URL(text, base?.href)
  if (!/^https?:$/.test(url.protocol)) throw new FetchFailed('refused', 'The address is not http(s).')
  if (url.username !== '' || url.password !== '') throw new FetchFailed('refused', 'The address carries credentials.')
  return url
}

/** The first answer that is not a redirect. Every address on the way is checked. */
async function followed(
  agents: Agents,
  limits: FetchTimeouts,
  start: URL,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<Answer> {
  let url = start
  // Once a redirect has left the origin, its headers stay behind: the way back was chosen by a stranger.
  let headers = options.headers
  for (let redirects = 0; ; redirects += 1) {
    const isTrusted = options.trustedOrigins?.includes(url.origin) ?? false
    if (!isTrusted && !namesPublicHost(url)) throw notPublic()
    if (!isTrusted && !hasUsualPort(url)) throw new FetchFailed('refused', 'The address names a port of its own.')
    const asked = {
      dispatcher: isTrusted ? agents.trusted : agents.public,
      headers: { ...OWN_HEADERS[options.kind], ...headers },
      headersTimeout: limits.firstByte,
      bodyTimeout: limits.idle,
      signal,
    }
    const from = url
    // undici notices a signal only once it is connected.
    const answer = await unlessAborted(() => request(from, asked), signal)
    const location = REDIRECTS.has(answer.statusCode) ? header(answer, 'location') : null
    if (location === null) return answer
    answer.body.on('error', () => {}).destroy()
    if (redirects === MAX_REDIRECTS) throw new FetchFailed('refused', 'The address redirects too often.')
    const next = parseUrl(location, url)
    if (url.protocol === 'https:' && next.protocol === 'http:') {
      throw new FetchFailed('refused', 'The address redirects from https to http.')
    }
    if (next.origin !== url.origin) headers = undefined
    url = next
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

const ALWAYS = { 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

/** Only what is stored is asked for: a server that can choose must not choose AVIF. */
const OWN_HEADERS: Record<MediaKind, Record<string, string>> = {
  image: { ...ALWAYS, accept: 'image/png, image/jpeg, image/webp, image/gif' },
  video: { ...ALWAYS, accept: 'video/mp4, video/webm, video/quicktime, */*;q=0.5' },
}

function header(answer: Answer, name: string): string | null {
  const value = answer.headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

const tooLarge = (maxBytes: number) => new FetchFailed('too_large', `The file is larger than ${maxBytes} bytes.`)

/** The body of an answer that can be used. @throws FetchFailed for every other answer, whose connection it closes */
async function accepted(
  answer: Answer,
  { kind, maxBytes = MAX_BYTES[kind] }: DownloadOptions,
  deadline: Deadline,
): Promise<Download> {
  const refusal = refusalOf(answer, maxBytes)
  if (refusal) {
    answer.body.on('error', () => {}).destroy()
    throw refusal
  }
  const length = header(answer, 'content-length')
  return {
    declaredType: header(answer, 'content-type'),
    declaredBytes: length === null ? null : Number(length),
    body: await started(limited(answer, maxBytes, deadline)),
  }
}

/** Whether a range is the whole file: some servers answer every request by one. */
function isWhole(range: string | null): boolean {
  const [, last, size] = /^bytes 0-(\d+)\/(\d+)$/.exec(range ?? '') ?? []
  return size !== undefined && Number(last) + 1 === Number(size)
}

function refusalOf(answer: Answer, maxBytes: number): FetchFailed | null {
  const { statusCode: status } = answer
  if (status !== 200 && !(status === 206 && isWhole(header(answer, 'content-range')))) {
    const retryable = status >= 500 || status === 408 || status === 425 || status === 429
    return new FetchFailed('status', `The server answered with status ${status}.`, { retryable, status })
  }
  const encoding = header(answer, 'content-encoding') ?? ''
  if (!/^\s*(identity)?\s*$/i.test(encoding)) return new FetchFailed('broken', 'The server sent a compressed file.')
  return Number(header(answer, 'content-length') ?? 0) > maxBytes ? tooLarge(maxBytes) : null
}

async function* limited(answer: Answer, maxBytes: number, deadline: Deadline): Download['body'] {
  let bytes = 0
  try {
    yield NOTHING
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (error) {
    throw failureOf(error, deadline.signal)
  } finally {
    deadline.release()
    answer.body.on('error', () => {}).destroy()
  }
}
