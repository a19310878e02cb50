/**
 * How a transcript is sent: as the JSON that is stored, or as the text in it, which has no room for credits.
 */
import type { Context } from 'koa'
import type { Answer, LongAnswer } from '../../../shared/calls/stored-answers.ts'
import { bytesOf, isLong } from '../../../shared/calls/stored-answers.ts'
import type { BodyDeps } from '../calls/answer-body.ts'
import { sendAnswer, withBody } from '../calls/answer-body.ts'

/** The media types of what is no JSON. */
export const TRANSCRIPT_TYPES = { text: 'text/plain', srt: 'text/plain', vtt: 'text/vtt' } as const

type TextAnswer = { as?: keyof typeof TRANSCRIPT_TYPES; text: string; usage: { credits: number; balance: number } }

/** Sends the answer of a transcription. @throws ApiError overloaded if too much waits for its readers already. */
export async function sendTranscript(ctx: Context, deps: BodyDeps, answer: Answer | LongAnswer): Promise<void> {
  if (answer.status !== 200) return sendAnswer(ctx, deps, answer)
  const hold = deps.responseMemory.hold(ctx)
  hold.require(isLong(answer) ? bytesOf(answer) : Buffer.byteLength(answer.body))
  const read = (body: string) => ({ body, fields: JSON.parse(body) as TextAnswer })
  const { body, fields } = await withBody(deps, answer, read)
  const { as, text, usage } = fields
  ctx.status = 200
  ctx.set('Cache-Control', 'no-store')
  showPaid(ctx, usage)
  ctx.set('Content-Type', `${as ? TRANSCRIPT_TYPES[as] : 'application/json'}; charset=utf-8`)
  ctx.body = as ? text : body
}

/** Sets the headers for the cost of a call and the balance, where its body has no room for them. */
export function showPaid(ctx: Context, { credits, balance }: { credits: number; balance: number }): void {
  ctx.set('X-Credits', String(credits))
  ctx.set('X-Balance', String(balance))
}
