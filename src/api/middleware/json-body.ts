/**
 * Reads a request body: JSON objects only, strictly. The body parsers' own defaults answer 500 to a corrupt gzip, take
 * a wrong content type for an empty object, and let 100,000 levels of nesting through, so everything is decided here
 * and koa-body only reads bytes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context, ParameterizedContext } from 'koa'
import { ApiError } from '../../shared/platform/errors.ts'
import type { WebDeps } from '../deps.ts'
import { LARGE_BYTES } from '../endpoint/large-body-queue.ts'
import type { RequestState } from './request-context.ts'
import { HttpMethodEnum, koaBody } from 'koa-body'
import type { BodyMemory } from '../server/body-memory.ts'

/**
 * The longest body in bytes (docs/api/README.md#request-bodies), regardless of Content-Length: of authenticated
 * clients, and of all others. For calls, the setting MAX_BODY_BYTES applies instead.
 */
export const MAX_BODY_BYTES = { known: 1_048_576, anybody: 16_384 }

/** The longest body of a request: its endpoint's limit, or that of unauthenticated clients if no endpoint serves it. */
export const maxBytesOf = ({ state }: { state: Partial<RequestState> }): number =>
  state.endpoint?.maxBodyBytes ?? MAX_BODY_BYTES.anybody

/** The error for a body that is longer than `maxBytes`. */
export const tooLarge = (maxBytes: number): ApiError =>
  new ApiError('payload_too_large', {
    message: `The request body must be at most ${maxBytes.toLocaleString('en-US')} bytes.`,
  })

// latin1 maps each byte to one character, so that the bytes come through unchanged, in any declared charset.
const gatherer = (textLimit: number) =>
  koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    encoding: 'latin1',
    textLimit,
    parsedMethods: Object.values(HttpMethodEnum),
    onError: (error) => {
      throw error
    },
  })

/**
 * Reads a body. What has come of it is counted for its sender while the rest is on its way.
 * @returns its bytes; null for one that ended before it was complete
 * @throws ApiError payload_too_large; rate_limited and overloaded if too much comes too slowly.
 */
export async function readBytes(ctx: Context, bodyMemory: BodyMemory, sender: string): Promise<Buffer | null> {
  const { req } = ctx
  const maxBytes = maxBytesOf(ctx)
  if (req.destroyed) return null
  if (req.complete) {
    const whole = (req.read() as Buffer | null) ?? Buffer.alloc(0)
    if (whole.length > maxBytes) throw tooLarge(maxBytes)
    return whole
  }
  const gathering = gatherer(maxBytes)(ctx, async () => {})
  // Only now does somebody read: a listener before would have let the first bytes pass.
  const stopCounting = bodyMemory.count(req, sender)
  try {
    await gathering
  } catch (error) {
    if (error instanceof ApiError) throw error
    if ((error as { type?: string }).type === 'entity.too.large') throw tooLarge(maxBytes)
    return null
  } finally {
    stopCounting()
  }
  const { body } = ctx.request as unknown as { body?: unknown }
  return Buffer.from(typeof body === 'string' ? body : '', 'latin1')
}

/** Deeper JSON makes later walks of it fail; no request of ours needs it. */
const MAX_DEPTH = 64

/**
 * Lists, objects, their fields and further elements in one body. A body is walked several times before its call is
 * charged, so its values cost more than its bytes. No request of ours needs more of them, nor a long session of an
 * agent more than one for each 64 bytes that its body may have: a walk of that many takes a quarter of a second of CPU.
 */
const mostValues = (maxBytes: number): number => Math.max(65_536, Math.floor(maxBytes / 64))

/** A parsed body. `__proto__` is an ordinary key of it, as JSON.parse makes it. */
export type JsonObject = Record<string, unknown>

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Whether more of a body may still come than is ever read: it is too long, or its length is unknown. An
 * answer to such a request ends its connection, because Node would go on reading the rest.
 */
export function mayStillSend(ctx: Pick<Context, 'req' | 'state'>): boolean {
  const { req } = ctx
  if (req.complete) return false
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > maxBytesOf(ctx)
}

type Request = ParameterizedContext<RequestState>

/** What an endpoint does about large bodies (`LARGE_BYTES`). */
export type LargeBody = {
  /** Refuses one before it is read, or, where its length is not stated, before it is parsed. @throws ApiError */
  admit?: (bytes: number) => Promise<void>
  /** Takes what ends the turn of one, which otherwise ends with the turn of the event loop that it was parsed in. */
  hold?: (end: () => void) => void
  /** Takes the text of the body. */
  read?: (text: string) => void
}

/**
 * Reads a body, and parses it when it is its turn. What has come of it is counted for its sender while the rest is on
 * its way. A large body is scanned in one turn of the event loop and parsed in another.
 * @throws ApiError unsupported_media_type, payload_too_large, invalid_json, or rate_limited and overloaded if too
 * much comes at once or too slowly.
 */
export async function readJsonBody(
  ctx: Request,
  { bodyMemory, largeBodies }: Pick<WebDeps, 'bodyMemory' | 'largeBodies'>,
  sender: string,
  { admit = async () => {}, hold = setImmediate, read = () => {} }: LargeBody = {},
): Promise<JsonObject> {
  const { 'content-type': type = '', 'content-encoding': encoding = '', 'content-length': length } = ctx.req.headers
  requireJson(type, encoding)
  if (Number(length) > maxBytesOf(ctx)) throw tooLarge(maxBytesOf(ctx))
  if (Number(length) > LARGE_BYTES) await admit(Number(length))
  const bytes = await readBytes(ctx as Context, bodyMemory, sender)
  if (bytes === null) throw new ApiError('invalid_json', { message: 'The request body ended before it was complete.' })
  if (bytes.length <= LARGE_BYTES) {
    const text = textOf(bytes, maxBytesOf(ctx))
    read(text)
    return parseJsonObject(text)
  }
  if (length === undefined) await admit(bytes.length)
  const end = await largeBodies.turnOf(sender, bytes.length)
  try {
    const text = textOf(bytes, maxBytesOf(ctx))
    await nextTurn()
    read(text)
    return parseJsonObject(text)
  } finally {
    hold(end)
  }
}

/** Whether a request has a body at all. */
export const hasBody = (ctx: Request): boolean =>
  Number(ctx.get('content-length')) > 0 || ctx.get('transfer-encoding') !== ''

function requireJson(contentType: string, contentEncoding: string): void {
  if (contentType === 'application/json' && contentEncoding === '') return
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  const plain = contentEncoding === '' || contentEncoding.trim().toLowerCase() === 'identity'
  if (type !== 'application/json' || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') || !plain) {
    throw new ApiError('unsupported_media_type')
  }
}

/** The text of a body whose shape is not at fault. @throws ApiError invalid_json */
function textOf(bytes: Buffer, maxBytes: number): string {
  const fault = faultOfShape(bytes, mostValues(maxBytes))
  if (fault !== null) throw new ApiError('invalid_json', { message: `The request body ${fault}.` })
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ApiError('invalid_json', { message: 'The request body is not valid UTF-8.' })
  }
}

function parseJsonObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ApiError('invalid_json')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalid_json')
  return value as JsonObject
}

/** Counts brackets, commas and colons outside of strings, before anything walks the values. */
function faultOfShape(bytes: Buffer, maxValues: number): string | null {
  let depth = 0
  let values = 0
  let inString = false
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index]!
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x2c || code === 0x3a) values++
    else if (code === 0x7b || code === 0x5b) {
      values++
      if (++depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return values > maxValues ? `has more than ${maxValues} values` : null
}
