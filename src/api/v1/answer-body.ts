/**
 * The body of an ended call's answer, held or read from its row.
 */
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Answer, LongAnswer } from '../../shared/calls/answers.ts'
import { bytesOf, isLong } from '../../shared/calls/answers.ts'
import { READER_BYTES } from '../../shared/calls/long-answers.ts'
import type { WebDeps } from '../deps.ts'
import type { Hold } from '../outgoing.ts'

export type BodyDeps = Pick<WebDeps, 'outgoing' | 'longAnswers'>

/**
 * Sends the stored bytes of an answer as they are.
 * @throws ApiError overloaded where too much waits for its readers already.
 */
export async function sendAnswer(ctx: Context, deps: BodyDeps, answer: Answer | LongAnswer): Promise<void> {
  const body = await bodyOf(deps, deps.outgoing.hold(ctx), answer)
  ctx.status = answer.status
  ctx.set('Cache-Control', 'no-store')
  if (answer.status >= 400) ctx.set('X-Should-Retry', 'false')
  ctx.type = 'application/json'
  ctx.body = body
  if (isLong(answer)) ctx.length = bytesOf(answer)
}

/**
 * The body as what Koa sends. The beginning of a long one is there: what cannot be read at all is no answer yet.
 * @throws ApiError overloaded.
 */
export async function bodyOf(
  { longAnswers }: Pick<BodyDeps, 'longAnswers'>,
  hold: Hold,
  answer: Answer | LongAnswer,
): Promise<string | Readable> {
  if (!isLong(answer)) {
    hold.require(Buffer.byteLength(answer.body))
    return answer.body
  }
  hold.require(READER_BYTES)
  const pieces = longAnswers.pieces(answer)
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
