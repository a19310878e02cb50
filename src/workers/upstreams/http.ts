/**
 * HTTP as adapters speak it: one request to an upstream's configured origin, its answer read within bounds of time and
 * size, every failure an `UpstreamError`. No redirects, no retries; a key never goes to another origin.
 */
import { Agent, buildConnector } from 'undici'
import type { Dispatcher, FormData } from 'undici'
import type { Upstream } from '../../shared/catalogue/catalogue.ts'
import type { UpstreamContext } from './adapter.ts'
import { UpstreamError } from './adapter.ts'
import { markConnectError, malformedAnswer, statusFailure, transportFailure } from './failures.ts'
import { isFields } from './fields.ts'
import type { Fields } from './fields.ts'
import { Gathered, MAX_ERROR_BYTES, isSuccess, requestWhole } from './whole-answer.ts'
import type { WholeAnswer } from './whole-answer.ts'
import { platformSignal } from '../stop.ts'

/** How long an upstream may keep silent, in ms: before its headers, and between two pieces of its body. 0: no limit. */
export type Patience = { headersMs: number; bodyMs: number }

/** How long each kind of request may take. The call's own deadline (the signal) ends all of them too. */
export type Timeouts = { connectMs: number } & Record<RequestKind, Patience>

/**
 * - `chat`, `image`: a whole answer that is made while we wait. Only the call's deadline knows how long it may take
 *   before its headers come.
 * - `stream`: a chat stream; reasoning models think long before the first piece.
 * - `submit`: the submission of a task, with a data URI perhaps.
 * - `poll`: reading or cancelling a task.
 */
type RequestKind = 'chat' | 'stream' | 'image' | 'submit' | 'poll'

/** The time-outs that production runs with. */
export const TIMEOUTS: Timeouts = {
  connectMs: 5000,
  chat: { headersMs: 0, bodyMs: 60_000 },
  stream: { headersMs: 120_000, bodyMs: 120_000 },
  image: { headersMs: 0, bodyMs: 60_000 },
  submit: { headersMs: 60_000, bodyMs: 60_000 },
  poll: { headersMs: 15_000, bodyMs: 15_000 },
}

const MEGABYTE = 1024 * 1024

/** The largest answers that are read, in bytes. Beside texts there may stand images in them, as base64. */
const MAX_BYTES = { image: 96 * MEGABYTE, submit: MEGABYTE, poll: 96 * MEGABYTE } as const

/** The default of MAX_ANSWER_BYTES. */
const MAX_ANSWER_BYTES = 4 * MEGABYTE

/** How many bytes of a stream may come for each byte of an answer: every token comes in a JSON object of its own. */
const STREAM_BYTES = 4

/**
 * Kinds that are never sent a second time. A connection that had idled may be closed by the other side in the very
 * moment it is used, so these get a fresh one each; chats and polls are repeated instead.
 */
const SENT_ONCE: ReadonlySet<RequestKind> = new Set(['image', 'submit'])

/** One request. `path` is added to the upstream's base address; `url` is one that the upstream itself named. */
export type UpstreamRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  kind: RequestKind
  body?: { json: unknown } | { form: FormData }
  headers?: Record<string, string>
} & ({ path: string } | { url: string })

/** How a protocol presents its key. */
export type Authorize = (apiKey: string) => Record<string, string>

/** `Authorization: Bearer <key>`, as most upstreams want it. */
export const bearer: Authorize = (key) => ({ authorization: `Bearer ${key}` })

/** HTTP in one protocol's name. */
export type UpstreamHttp = {
  /** The JSON object that answers a request. @throws UpstreamError, also for an answer of 2xx that is none */
  json(request: UpstreamRequest, context: UpstreamContext): Promise<Fields>
  /** The pieces of an answer's body as they come. @throws UpstreamError, also while it is read */
  body(request: UpstreamRequest, context: UpstreamContext): Promise<AnswerBody>
  /** What a download from this address must carry: the key on the upstream's own origin, else nothing. */
  downloadHeaders(url: string, upstream: Upstream): Record<string, string> | undefined
}

/**
 * A body that is being read, of at most `maxBytes`; `isJson` where it says that it is JSON. `release` ends that: after
 * its last piece of interest (`whole`) the connection is kept for the next request, else it is closed, which shows the
 * upstream to stop its work.
 */
export type AnswerBody = {
  pieces: AsyncIterable<Uint8Array>
  maxBytes: number
  isJson: boolean
  release: (whole: boolean) => void
}

/** What a request has beside the options of undici. */
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
  maxAnswerBytes: number = MAX_ANSWER_BYTES,
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
  const limits: Limits = { ...MAX_BYTES, chat: maxAnswerBytes, stream: STREAM_BYTES * maxAnswerBytes }
  return {
    http: (authorize) => {
      const agentOf = ({ kind }: UpstreamRequest) => (SENT_ONCE.has(kind) ? fresh : kept)
      const optionsOf = (request: UpstreamRequest, context: UpstreamContext) =>
        optionsFor(request, context, timeouts[request.kind], authorize)
      return {
        async json(request, context) {
          try {
            const options = optionsOf(request, context)
            const bound = { maxBytes: limits[request.kind], isChat: request.kind === 'chat' }
            return jsonOf(successOf(await requestWhole(agentOf(request), options, context.signal, bound)))
          } catch (error) {
            throw transportFailure(error, context.signal)
          }
        },
        async body(request, context) {
          try {
            const answer = await streamed(agentOf(request), optionsOf(request, context), context)
            return bodyOf(answer, limits[request.kind], context)
          } catch (error) {
            throw transportFailure(error, context.signal)
          }
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
  return {
    origin,
    path: `${pathname}${search}`,
    method,
    headersTimeout: patience.headersMs,
    bodyTimeout: patience.bodyMs,
    headers: {
      accept: 'application/json',
      'user-agent': 'tollgate',
      ...(method === 'POST' && { 'idempotency-key': callId }),
      ...(traceparent && { traceparent }),
      ...(body && 'json' in body && { 'content-type': 'application/json' }),
      ...request.headers,
      ...ownHeaders(upstream, authorize),
    },
    body: body === undefined ? null : 'json' in body ? JSON.stringify(body.json) : body.form,
  }
}

/** @throws UpstreamError for a status other than 2xx */
function successOf({ status, headers, bytes }: WholeAnswer): Uint8Array {
  if (isSuccess(status)) return bytes
  throw statusFailure(status, headers, new TextDecoder().decode(bytes))
}

/** Sends a request whose answer is read piece by piece. @throws UpstreamError for a status other than 2xx */
async function streamed(
  agent: Agent,
  options: Dispatcher.DispatchOptions,
  { signal, onSent }: UpstreamContext,
): Promise<Dispatcher.ResponseData> {
  const sent: SentRequest = { ...options, signal: platformSignal(signal), ...(onSent && { onSent }) }
  const answer = await agent.request(sent)
  if (isSuccess(answer.statusCode)) return answer
  throw statusFailure(answer.statusCode, answer.headers, await errorText(answer))
}

/** What an error answer says. The status is known, so nothing that happens here is a failure of its own. */
async function errorText({ body, headers }: Dispatcher.ResponseData): Promise<string> {
  if (Number(headers['content-length'] ?? 0) > MAX_ERROR_BYTES) {
    body.destroy()
    return ''
  }
  let text = ''
  try {
    const decoder = new TextDecoder()
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true })
      if (text.length > MAX_ERROR_BYTES) break
    }
  } catch {
    // Cut off: what came is what there is.
  }
  return text
}

/** The most bytes that are read of an answer. */
type Limits = Readonly<Record<RequestKind, number>>

/**
 * The JSON object that a body is: of one that is read as a stream though its upstream answers whole.
 * @throws UpstreamError `unknown` where it is none; AnswerTooLong with what was read of one that is too long
 */
export async function readWhole({ pieces, maxBytes, release }: AnswerBody): Promise<Fields> {
  let isWhole = false
  try {
    const gathered = new Gathered({ maxBytes: maxBytes / STREAM_BYTES, isChat: true })
    for await (const piece of pieces) gathered.add(piece)
    isWhole = true
    return jsonOf(gathered.bytes())
  } finally {
    release(isWhole)
  }
}

function jsonOf(bytes: Uint8Array): Fields {
  const value = parseJson(decodeUtf8(bytes))
  if (!isFields(value)) throw malformedAnswer('the answer is no JSON object')
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw malformedAnswer('the answer is no UTF-8', error)
  }
}

/** A JSON value of an upstream. @throws UpstreamError of the kind `unknown` */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformedAnswer('the answer is no JSON', error)
  }
}

/** How long the end of a stream may take behind its last event, in ms, before the connection is given up. */
const REST_MS = 1000

function bodyOf({ body, headers }: Dispatcher.ResponseData, maxBytes: number, { signal }: UpstreamContext): AnswerBody {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body.iterator({ destroyOnReturn: false })) yield piece as Uint8Array
    } catch (error) {
      throw transportFailure(error, signal)
    }
  }
  return {
    pieces: pieces(),
    maxBytes,
    isJson: /^application\/json\b/i.test(String(headers['content-type'] ?? '')),
    release: (whole) => {
      // Nobody reads any more: an error from here on concerns nobody.
      body.on('error', () => {})
      if (!whole) {
        body.destroy()
        return
      }
      const timer = setTimeout(() => body.destroy(), REST_MS).unref()
      body.once('close', () => clearTimeout(timer)).resume()
    },
  }
}
