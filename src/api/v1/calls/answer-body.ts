/**
 * The body of an ended call's answer, held or read from its row.
 */
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Answer, LongAnswer } from '../../../shared/calls/stored-answers.ts'
import { bytesOf, isLong } from '../../../shared/calls/stored-answers.ts'
import { READER_BYTES } from '../../../shared/replies/long-answers.ts'
import type { ErrorCode, GatewayError } from '../../../shared/platform/errors.ts'
import { RETRY_SECONDS, shouldRetry, ApiError } from '../../../shared/platform/errors.ts'
import { reasonIn } from '../../../shared/chat/gemini/errors.ts'
import { messagesErrors } from '../../../shared/chat/messages/errors.ts'
import type { WebDeps } from '../../deps.ts'
import type { Hold } from '../../server/response-memory.ts'
import type { MediaName } from '../../../shared/media/media.ts'
import type { MediaReader } from '../../../shared/media/reader.ts'

/** What writing the body of an answer needs. */
export type BodyDeps = Pick<WebDeps, 'responseMemory' | 'longAnswers' | 'media'>

/** Sends the answer of an ended call. @throws ApiError overloaded if too much waits for its readers already. */
export type SendAnswer = (ctx: Context, deps: BodyDeps, answer: Answer | LongAnswer) => Promise<void>

/**
 * Sends the stored bytes of an answer as they are.
 * @throws ApiError overloaded if too much waits for its readers already, and as `bodyOf`.
 */
export async function sendAnswer(ctx: Context, deps: BodyDeps, answer: Answer | LongAnswer): Promise<void> {
  const body = bodyOf(deps, deps.responseMemory.hold(ctx), answer)
  const ready = typeof body === 'string' ? body : await body
  ctx.status = answer.status
  // Koa's own setters look each of these up first.
  ctx.res.setHeader('Cache-Control', 'no-store')
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8')
  if (answer.status >= 400 && !isLong(answer)) setFailureHeaders(ctx, answer.body)
  ctx.body = ready
  if (isLong(answer)) ctx.length = bytesOf(answer)
}

/**
 * The headers of a stored failure: whether it may pass, as that of a call that could not be enqueued, or for which no
 * upstream had room; and the id that its body has for clients.
 */
function setFailureHeaders({ res }: Context, body: string): void {
  const { error, request_id: requestId } = JSON.parse(body) as { error: GatewayError; request_id?: string }
  const { code, retryAfterSeconds } = reasonIn(error) ?? error
  const mayPass = shouldRetry(code as ErrorCode) || retryAfterSeconds !== undefined
  res.setHeader('X-Should-Retry', String(mayPass))
  if (mayPass) res.setHeader('Retry-After', String(retryAfterSeconds ?? RETRY_SECONDS))
  if (requestId !== undefined) res.setHeader(messagesErrors.requestIdHeader!, requestId)
}

/**
 * The body as what Koa sends; a promise only of one that has to be read.
 * @throws ApiError overloaded; result_expired and service_unavailable if it has pictures that cannot be read.
 */
export function bodyOf(
  { longAnswers, media }: Pick<BodyDeps, 'longAnswers' | 'media'>,
  hold: Hold,
  answer: Answer | LongAnswer,
): string | Promise<Readable> {
  const isRead = isLong(answer) || hasPictures(answer)
  hold.require(isRead ? READER_BYTES : Buffer.byteLength(answer.body))
  if (isLong(answer)) return readerOf(longAnswers.pieces(answer))
  return hasPictures(answer) ? readerOfPictures(media, answer) : answer.body
}

async function readerOfPictures(media: BodyDeps['media'], answer: PicturesAnswer): Promise<Readable> {
  await requirePictures(media, answer)
  return readerOf(piecesWithPictures(media, answer))
}

/** Reads the beginning of a body at once, so that one that cannot be read at all is answered with an error. */
async function readerOf(pieces: AsyncGenerator<Buffer, void, void>): Promise<Readable> {
  const head = [await nextOf(pieces), await nextOf(pieces)]
  // Nothing is read ahead of the piece that the socket is taking.
  return Readable.from(following(Buffer.concat(head), pieces), { objectMode: false, highWaterMark: 1 })
}

async function nextOf(pieces: AsyncGenerator<Buffer, void, void>): Promise<Buffer> {
  return (await pieces.next()).value ?? Buffer.alloc(0)
}

async function* following(first: Buffer, rest: AsyncGenerator<Buffer, void, void>): AsyncGenerator<Buffer, void, void> {
  yield first
  yield* rest
}

/** Hands the whole body to `use`, which must keep nothing of a long one. */
export async function withBody<T>(
  { longAnswers }: Pick<BodyDeps, 'longAnswers'>,
  answer: Answer | LongAnswer,
  use: (body: string) => T,
): Promise<T> {
  return isLong(answer) ? await longAnswers.withWhole(answer, use) : use(answer.body)
}

/** An answer whose body has names in place of pictures. */
export type PicturesAnswer = Answer & Required<Pick<Answer, 'pictures'>>

/** Whether an answer has names in place of pictures. */
export const hasPictures = (answer: Answer): answer is PicturesAnswer => answer.pictures !== undefined

/**
 * @throws ApiError result_expired if one of the pictures is no longer stored, service_unavailable if the storage
 * cannot be reached
 */
export async function requirePictures(media: MediaReader, { pictures }: PicturesAnswer): Promise<void> {
  const found = await Promise.all(pictures.map((name) => media.locate(name, 'HEAD'))).catch((cause: unknown) => {
    throw new ApiError('service_unavailable', { cause })
  })
  if (found.includes(null)) throw new ApiError('result_expired')
}

/** The body in pieces. Reading throws if a picture was deleted meanwhile: its reader sees a broken connection. */
export async function* piecesWithPictures(
  media: MediaReader,
  { body, pictures }: PicturesAnswer,
): AsyncGenerator<Buffer, void, void> {
  let at = 0
  for (const name of pictures) {
    const place = body.indexOf(`"${name}"`, at) + 1
    yield Buffer.from(body.slice(at, place))
    yield* base64Of(await opened(media, name))
    at = place + name.length
  }
  yield Buffer.from(body.slice(at))
}

async function opened(media: MediaReader, name: MediaName): Promise<Readable> {
  const picture = await media.open(name)
  if (!picture) throw new Error('a stored picture was removed before it was read')
  return picture
}

/** The bytes of a file as base64: its pieces are of three bytes each but for the last. */
async function* base64Of(file: Readable): AsyncGenerator<Buffer, void, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of file as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole))
    rest = bytes.subarray(whole)
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'))
}
