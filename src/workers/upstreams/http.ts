/**
 * HTTP as adapters speak it: one request to an upstream's configured origin, its answer read within bounds of time and
 * size, every failure an `UpstreamError`. No redirects, no retries; a key never goes to another origin.
 */
import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream'
import * as zlib from 'node:zlib'
import { Agent, buildConnector } from 'undici'
import type { Dispatcher } from 'undici'
import type { Authorize } from '../../shared/catalogue/authorization.ts'
import type { Upstream } from '../../shared/catalogue/catalogue.ts'
import type { UpstreamContext } from './adapter.ts'
import { UpstreamError } from './adapter.ts'
import { markConnectError, malformedAnswer, statusFailure, transportFailure } from './failures.ts'
import type { Fields } from '../../shared/platform/fields.ts'
import type { FormPart } from './multipart.ts'
import { encodeForm } from './multipart.ts'
import { KINDS, mapKinds } from '../../shared/terms/kinds.ts'
import type { Bound, RequestKind } from './admission.ts'
import { ANSWERS, admission, expectedOf } from './admission.ts'
import { readAnswer } from './reader.ts'
import type { AnswerBody } from './reader.ts'

/** How long an upstream may keep silent, in ms: before its headers, and between two pieces of its body. 0: no limit. */
export type Patience = { headersMs: number; bodyMs: number }

/** How long each kind of request may take. The call's own deadline (the signal) ends all of them too. */
export type Timeouts = { connectMs: number } & Record<RequestKind, Patience>

/** Of a whole answer that is made while we wait: only the call's deadline knows how long until its headers come. */
const WHOLE: Patience = { headersMs: 0, bodyMs: 60_000 }

/** The time-outs that production runs with. Reasoning models think long before the first piece of a stream. */
const TIMEOUTS: Timeouts = {
  connectMs: 5000,
  ...mapKinds(() => WHOLE),
  stream: { headersMs: 120_000, bodyMs: 120_000 },
  submit: { headersMs: 60_000, bodyMs: 60_000 },
  poll: { headersMs: 15_000, bodyMs: 15_000 },
}

/** How much of an error's body is read, in bytes: enough for its message. */
const MAX_ERROR_BYTES = 64 * 1024

/**
 * One request. `text`: JSON that is sent as it is. `path` is added to the upstream's base address; `url` is one that
 * the upstream itself named.
 */
export type UpstreamRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  kind: RequestKind
  body?: { json: unknown } | { text: string } | { parts: readonly FormPart[] }
  headers?: Record<string, string>
  /** About how long its answer is, in bytes, where that is known better than by its kind. */
  expectedBytes?: number
} & ({ path: string } | { url: string })

/** HTTP in one protocol's name. */
export type UpstreamHttp = {
  /** The longest answer of a chat, in bytes of JSON. */
  maxAnswerBytes: number
  /** The JSON object that answers a request. @throws UpstreamError, also for an answer of 2xx that is none */
  json(request: UpstreamRequest, context: UpstreamContext): Promise<Fields>
  /** The body of an answer, to be read by `readAnswer`. @throws UpstreamError, also while it is read */
  body(request: UpstreamRequest, context: UpstreamContext): Promise<AnswerBody>
  /** What a download from this address must carry: the key on the upstream's own origin, else nothing. */
  downloadHeaders(url: string, upstream: Upstream): Record<string, string> | undefined
}

/** What a request has besides the options of undici. */
type SentRequest = Dispatcher.RequestOptions & { onSent?: () => void }

/** Connections that report when a request begins to leave: until then its upstream cannot have it. */
class SendingAgent extends Agent {
  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { onSent } = options as SentRequest
    if (!onSent) return super.dispatch(options, handler)
    const onConnect = handler.onConnect?.bind(handler)
    // undici calls it once it has a connection, right before it writes the request.
    handler.onConnect = (abort) => {
      onSent()
      onConnect?.(abort)
    }
    return super.dispatch(options, handler)
  }
}

/** The connections of this process to all upstreams: a pool an origin. */
export type Connections = { http: (authorize: Authorize) => UpstreamHttp; close: () => Promise<void> }

/**
 * Opens connections as they are needed. `close` ends requests that still run.
 * @param maxAnswerBytes the longest answer of a chat that is read
 */
export function createConnections(
  timeouts: Timeouts = TIMEOUTS,
  maxAnswerBytes: number = KINDS.chat.answer.maxBytes,
): Connections {
  const connector = buildConnector({ timeout: timeouts.connectMs })
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...[error, socket]) => {
      if (error) {
        markConnectError(error)
        callback(error, null)
      } else callback(null, socket)
    })
  const kept = new SendingAgent({ connect })
  const fresh = new SendingAgent({ connect, pipelining: 0 })
  return {
    http: (authorize) => {
      const body: UpstreamHttp['body'] = async (request, context) => {
        const { kind } = request
        try {
          const options = optionsFor(request, context, timeouts[kind], authorize)
          // The other side may close an idle connection in the moment it is used: then a request would be lost.
          const answer = await answered(ANSWERS[kind].isSentOnce ? fresh : kept, options, context)
          const isChat = kind === 'chat' || kind === 'stream'
          const maxBytes = isChat ? maxAnswerBytes : ANSWERS[kind].answer.maxBytes
          return bodyOf(answer, { maxBytes, isChat, expectedBytes: expectedOf(request, answer.headers) }, context)
        } catch (error) {
          throw transportFailure(error, context.signal)
        }
      }
      return {
        maxAnswerBytes,
        body,
        async json(request, context) {
          let last: Fields | undefined
          await readAnswer(await body(request, context), (said) => {
            if (said.is === 'object') last = said.fields
            return true
          })
          if (!last) throw malformedAnswer('the response is not a JSON object')
          return last
        },
        downloadHeaders: (url, upstream) =>
          isSameOrigin(url, upstream.baseUrl) ? ownHeaders(upstream, authorize) : undefined,
      }
    },
    close: async () => {
      await Promise.all([kept.destroy(), fresh.destroy()])
    },
  }
}

/** Whether an address is of the upstream's own configured origin. */
export const isSameOrigin = (url: string, baseUrl: string): boolean =>
  URL.canParse(url) && new URL(url).origin === new URL(baseUrl).origin

/** The headers that are the upstream's own: its key, and what the catalogue adds, which wins. */
const ownHeaders = ({ apiKey, headers }: Upstream, authorize: Authorize): Record<string, string> => ({
  ...(apiKey === null ? {} : authorize(apiKey)),
  ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
})

/** The address of a request. @throws UpstreamError for a foreign origin: a forged request, and a leak of the key */
function addressOf(request: UpstreamRequest, { baseUrl, name }: Upstream): URL {
  if ('path' in request) return new URL(`${baseUrl}${request.path}`)
  if (!isSameOrigin(request.url, baseUrl)) {
    throw new UpstreamError('rejected', `${name} named an address of another origin than its own`)
  }
  return new URL(request.url)
}

/** A request as undici takes it. */
function optionsFor(
  request: UpstreamRequest,
  { route: { upstream }, callId, traceparent }: UpstreamContext,
  patience: Patience,
  authorize: Authorize,
): Dispatcher.DispatchOptions {
  const { origin, pathname, search } = addressOf(request, upstream)
  const { method, body } = request
  const json = jsonOf(body)
  const encoded = body && 'parts' in body ? encodeForm(body.parts) : null
  return {
    origin,
    path: `${pathname}${search}`,
    method,
    headersTimeout: patience.headersMs,
    bodyTimeout: patience.bodyMs,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      ...(method === 'POST' && { 'idempotency-key': callId }),
      ...(traceparent && { traceparent }),
      ...(json !== null && { 'content-type': 'application/json' }),
      ...encoded?.headers,
      ...request.headers,
      ...ownHeaders(upstream, authorize),
    },
    body: encoded?.body ?? json,
  }
}

/** The JSON of a body; null of any other. */
function jsonOf(body: UpstreamRequest['body']): string | null {
  if (body === undefined || 'parts' in body) return null
  return 'text' in body ? body.text : JSON.stringify(body.json)
}

/** Whether a status is that of an answer, and not of an error. */
const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Sends a request; its answer is still to be read. @throws UpstreamError for a status other than 2xx */
async function answered(
  agent: Agent,
  options: Dispatcher.DispatchOptions,
  { signal, onSent }: UpstreamContext,
): Promise<Dispatcher.ResponseData> {
  const sent: SentRequest = { ...options, signal: signal, ...(onSent && { onSent }) }
  const answer = await agent.request(sent)
  if (isSuccess(answer.statusCode)) return answer
  throw statusFailure(answer.statusCode, answer.headers, await errorText(answer))
}

/** The text of an error answer. The status is known, so nothing that happens here is a failure of its own. */
async function errorText(answer: Dispatcher.ResponseData): Promise<string> {
  const source = decoded(answer)
  if (Number(answer.headers['content-length'] ?? 0) > MAX_ERROR_BYTES) {
    source.destroy()
    return ''
  }
  let text = ''
  try {
    const decoder = new TextDecoder()
    for await (const piece of source as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true })
      if (text.length > MAX_ERROR_BYTES) break
    }
  } catch {
    // Cut off: what came is what there is.
  }
  return text
}

// Not in every Node that this runs on.
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }

/** Decoders by the codings of RFC 9110, 8.4.1, and by zstd (RFC 8878). */
const DECODERS: Readonly<Record<string, (() => Transform) | undefined>> = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  zstd: createZstdDecompress,
}

/** The body as it was before it was compressed: `identity` was asked for, and some compress all the same. */
function decoded({ body, headers }: Dispatcher.ResponseData): Readable {
  const codings = String(headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
  return codings.reduceRight<Readable>((source, coding) => {
    const decoder = DECODERS[coding.trim()]?.()
    // The reader of the decoder gets the failure of either.
    return decoder ? pipeline(source, decoder, () => {}) : source
  }, body)
}

/** How long the end of an answer may take after its last piece of interest, in ms: then its connection is given up. */
const REST_MS = 1000

function bodyOf(answer: Dispatcher.ResponseData, bound: Bound, context: UpstreamContext): AnswerBody {
  const { signal } = context
  const source = decoded(answer)
  const { admit, end } = admission(bound, context)
  return {
    ...bound,
    source,
    admit,
    failure: (error) => transportFailure(error, signal),
    release: (whole) => {
      end()
      if (source.closed) return
      // Nothing reads it any more: ignore errors from here on.
      source.on('error', () => {})
      if (!whole) {
        source.destroy()
        return
      }
      const timer = setTimeout(() => source.destroy(), REST_MS).unref()
      source.once('close', () => clearTimeout(timer)).resume()
    },
  }
}
