/**
 * The answer of a call for speech: its sound, as it comes. The connection of incomplete sound is broken.
 */
import { PassThrough } from 'node:stream'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { SpeechRequest } from '../../../shared/requests/speech.ts'
import { SOUND_ENDS, SPEECH_TYPES } from '../../../shared/requests/speech.ts'
import type { Hold } from '../../server/response-memory.ts'
import type { AnswerDeps } from '../calls/answer-call.ts'
import {
  answerStopping,
  deliver,
  endWhenDone,
  handleDisconnect,
  unlessStopped,
  whenDisconnected,
} from '../calls/answer-call.ts'
import type { UpdateListener } from '../calls/call-updates.ts'
import type { CallContext, PlacedCall } from '../calls/placed-call.ts'
import { showPaid } from './sent-transcript.ts'

/** The most unread bytes of a reader; beyond it the reader is cut off, so that it cannot fill our memory. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/**
 * Answers a placed call for speech. Until its first byte a failure is answered with its own status.
 * @throws ApiError result_expired for a call that another request had opened: its sound went there
 */
export async function answerWithSound(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { updates, request }: { updates: UpdateListener; request: SpeechRequest },
): Promise<void> {
  const left = whenDisconnected(ctx)
  const early = await unlessStopped(deps.stopping, () =>
    Promise.race([updates.framesBegin, placed.wait.answer, left.then(() => 'left' as const)]),
  )
  if (early === 'left') return handleDisconnect(ctx, deps, placed)
  if (early === null) return answerStopping(ctx, deps, placed, false)
  if (early !== 'frames' && early.status !== 200) return deliver(ctx, deps, placed, early)
  if (early !== 'frames' || !placed.charged) throw new ApiError('result_expired')
  ctx.status = 200
  ctx.set('Content-Type', SPEECH_TYPES[request.response_format])
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Accel-Buffering', 'no')
  showPaid(ctx, placed.charged)
  const body = new PassThrough()
  ctx.body = body
  const write = soundWriter(body, deps.responseMemory.hold(ctx))
  updates.attach((one) => {
    if (one.type === 'chunks') one.chunks.filter((chunk) => chunk !== SOUND_ENDS).forEach(write)
  })
  endWhenDone(ctx, deps, placed, async (answer) => {
    if (answer && placed.relayed?.isWhole) body.end()
    else ctx.res.destroy()
    if (!answer) await handleDisconnect(ctx, deps, placed)
  })
}

/** Writes pieces of sound, in base64, and cuts off a reader that has too many of them unread. */
function soundWriter(body: PassThrough, hold: Hold): (piece: string) => void {
  body.on('drain', () => hold.set(body.writableLength + body.readableLength))
  return (piece) => {
    if (body.destroyed) return
    const bytes = Buffer.from(piece, 'base64')
    const unread = body.writableLength + body.readableLength + bytes.length
    if (unread > MAX_UNREAD_BYTES || !hold.set(unread)) body.destroy()
    else body.write(bytes)
  }
}
