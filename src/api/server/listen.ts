/**
 * The HTTP server of the web process. It answers what never reaches the application, because Node's own answers to that
 * have neither a body nor an X-Request-Id, and closes connections whose client does not read what it is sent.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Config } from '../../shared/platform/config/config.ts'
import { listenAt } from '../../shared/platform/http/http-server.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import { gatewayError, shouldRetry } from '../../shared/platform/errors.ts'
import { ORIGIN_HEADERS, isOpenToOrigins } from '../middleware/cors.ts'
import { GATEWAY_PATHS, requestIdOf } from '../middleware/request-context.ts'

/**
 * Times in ms. Idle connections outlive those of Heroku's router (90 s), so that it never uses a closed one.
 * Whether a request has a Host is checked where it is dispatched: Node's own refusal has no X-Request-Id.
 */
const OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 95_000,
  connectionsCheckingInterval: 5000,
  requireHostHeader: false,
} as const

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Serves requests at PORT, and answers what never becomes one. `handler` answers its own failures; the connection of
 * one that does not is broken. @throws as `listenAt`.
 */
export async function listen(handler: Handler, config: Pick<Config, 'HOST' | 'PORT'>): Promise<Server> {
  const answering = {
    request: (request: IncomingMessage, response: ServerResponse) => {
      handler(request, response).catch((error: unknown) => {
        response.destroy()
        reportDefect(error)
      })
    },
    unknownExpectation: answerUnknownExpectation,
    error: answerParserError,
  }
  const server = await listenAt(config, config.PORT, answering, OPTIONS)
  server.once('close', closeSlowReaders(server))
  return server
}

/** How long a client may read nothing while bytes wait for it, in ms. */
const SLOW_MS = 30_000

/** How often a connection is checked in the time that it may be slow. */
const CHECKS = 15

/** What the client has taken, and for how long it has taken nothing more, in ms. */
type Progress = { taken: string; idleMs: number }

/** A watch over the connections of a server. */
type ReaderWatch = {
  /** Closes those whose client has read nothing for too long. Takes the ms since the last check. */
  check: (passedMs: number) => void
  stop: () => void
}

/** Watches the connections of a server, which are checked only on demand. */
export function watchReaders(server: Server, slowMs: number): ReaderWatch {
  const sockets = new Map<Socket, Progress | null>()
  const watch = (socket: Socket): void => {
    sockets.set(socket, null)
    socket.once('close', () => sockets.delete(socket))
  }
  server.on('connection', watch)
  return {
    check: (passedMs) => {
      for (const [socket, before] of sockets) sockets.set(socket, check(socket, before, passedMs, slowMs))
    },
    stop: () => {
      server.off('connection', watch)
    },
  }
}

/**
 * Watches the connections of a server, and checks them in time. A client that waits for a call is not slow, however
 * long it waits: there is nothing to read. @returns how to stop.
 */
export function closeSlowReaders(server: Server, slowMs = SLOW_MS): () => void {
  const readers = watchReaders(server, slowMs)
  const paceMs = slowMs / CHECKS
  let checkedAt = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // A pause of the process is not its clients' fault: it counts as two checks at most.
    const passedMs = Math.min(now - checkedAt, 2 * paceMs)
    checkedAt = now
    readers.check(passedMs)
  }, paceMs).unref()
  return () => {
    clearInterval(timer)
    readers.stop()
  }
}

function check(socket: Socket, before: Progress | null, passedMs: number, slowMs: number): Progress | null {
  if (socket.writableLength === 0) return null
  const taken = takenBy(socket)
  if (before?.taken !== taken) return { taken, idleMs: 0 }
  const idleMs = before.idleMs + passedMs
  if (idleMs >= slowMs) socket.destroy()
  return { taken, idleMs }
}

/**
 * What the kernel has taken for the client, as a text that changes with it. Node reports
 * a write only at its end; its handle knows the remaining bytes, and Node's own socket time-outs read it, too.
 */
export function takenBy(socket: Socket): string {
  const handle = (socket as { _handle?: { writeQueueSize?: number } })._handle
  return `${socket.bytesWritten - socket.writableLength} ${handle?.writeQueueSize ?? 0}`
}

/** An error of Node's parser, or of its check of slow connections. `rawPacket`: the bytes that were read last. */
type ParserError = Error & { code?: string; rawPacket?: Buffer }

type Refusal = { status: number; message: string }

/** What Node answers to each of its errors, with a message. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers of the request are longer than 16 KB.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions of the request are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
}

const MALFORMED_HTTP: Refusal = { status: 400, message: 'The request is not valid HTTP.' }

const UNKNOWN_EXPECTATION: Refusal = { status: 417, message: 'The only supported expectation is 100-continue.' }

/** Bytes in which the path of a request is searched. */
const SEARCHED_BYTES = 2048

/**
 * Answers an error of a connection, and closes it. Where an answer is already on its way, none can be sent.
 * A listener for `clientError` (https://nodejs.org/docs/latest-v20.x/api/http.html#event-clienterror).
 */
function answerParserError(error: ParserError, socket: Socket): void {
  // The answer that would come next on this connection: Node's own listener checks the same one.
  const { _httpMessage: next } = socket as { _httpMessage?: ServerResponse | null }
  if (error.code === 'ECONNRESET' || !socket.writable || next?.headersSent) {
    socket.destroy(error)
    return
  }
  const path = next?.req.url ?? pathIn(error.rawPacket)
  const { status, headers, body } = answerTo(REFUSALS[error.code ?? ''] ?? MALFORMED_HTTP, path, idOf(next))
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy(error))
}

/** Answers a request whose Expect is not understood (RFC 9110, 10.1.1). A listener for `checkExpectation`. */
function answerUnknownExpectation(request: IncomingMessage, response: ServerResponse): void {
  const { status, headers, body } = answerTo(UNKNOWN_EXPECTATION, request.url ?? '', requestIdOf(request))
  response.writeHead(status, headers).end(body)
}

/** The id of the answer in whose place another is sent, or a new one. */
const idOf = (next: ServerResponse | null | undefined): string =>
  next?.getHeader('X-Request-Id')?.toString() ?? randomUUID()

/** An answer in the form of its path, with the headers that every error there has. */
function answerTo({ status, message }: Refusal, path: string, requestId: string) {
  const error = gatewayError('invalid_request', message)
  const isGateway = GATEWAY_PATHS.test(path)
  const body = JSON.stringify({ ok: false, ...(isGateway ? { error: error } : { error: error.type, message }) })
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    Connection: 'close',
    'X-Request-Id': requestId,
    ...(isGateway && { 'X-Should-Retry': String(shouldRetry(error.type)) }),
    ...(isOpenToOrigins(path) && ORIGIN_HEADERS),
  }
  return { status, headers, body }
}

/** The path of the request that a packet begins with, if it does. */
const pathIn = (packet: Buffer | undefined): string =>
  /^[A-Z]+ (\S+)/.exec(packet?.toString('latin1', 0, SEARCHED_BYTES) ?? '')?.[1] ?? ''
