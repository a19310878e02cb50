/**
 * Answers what never reaches the application: bytes that are not HTTP, headers that are too long, a request that comes
 * too slowly, an expectation that nobody knows. Node's own answers to these have neither a body nor an X-Request-Id.
 */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gatewayError, shouldRetry } from '../../shared/platform/errors.ts'
import { ORIGIN_HEADERS, isOpenToOrigins } from '../middleware/cors.ts'
import { requestIdOf } from '../middleware/request-context.ts'
import { GATEWAY_PATHS } from '../routes.ts'

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
const LOOKED_AT = 2048

/**
 * Answers an error of a connection, and closes it. Where an answer is already on its way, none can be sent.
 * A listener for `clientError` (https://nodejs.org/docs/latest-v20.x/api/http.html#event-clienterror).
 */
export function answerParserError(error: ParserError, socket: Socket): void {
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
export function answerUnknownExpectation(request: IncomingMessage, response: ServerResponse): void {
  const { status, headers, body } = answerTo(UNKNOWN_EXPECTATION, request.url ?? '', requestIdOf(request))
  response.writeHead(status, headers).end(body)
}

/** The id of the answer in whose place another is sent, or a new one. */
const idOf = (next: ServerResponse | null | undefined): string =>
  next?.getHeader('X-Request-Id')?.toString() ?? randomUUID()

/** An answer in the form of its path, with the headers that every error there has. */
function answerTo({ status, message }: Refusal, path: string, requestId: string) {
  const said = gatewayError('invalid_request', message)
  const isGateway = GATEWAY_PATHS.test(path)
  const body = JSON.stringify({ ok: false, ...(isGateway ? { error: said } : { error: said.type, message }) })
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    Connection: 'close',
    'X-Request-Id': requestId,
    ...(isGateway && { 'X-Should-Retry': String(shouldRetry(said.type)) }),
    ...(isOpenToOrigins(path) && ORIGIN_HEADERS),
  }
  return { status, headers, body }
}

/** The path of the request that a packet begins with, if it does. */
const pathIn = (packet: Buffer | undefined): string =>
  /^[A-Z]+ (\S+)/.exec(packet?.toString('latin1', 0, LOOKED_AT) ?? '')?.[1] ?? ''
