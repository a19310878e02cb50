/**
 * A chat's answer as a stream of events, in whichever dialect (docs/api/chats.md#streaming).
 */
import { CANCELLED_UNSENT } from '../../../shared/calls/types.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { bytesOf, isLong } from '../../../shared/calls/stored-answers.ts'
import { giveUpLeft } from '../../../shared/calls/numbered-retries.ts'
import type { AnswerDeps } from './answer-call.ts'
import {
  HEARTBEAT_MS,
  answerStopping,
  endWhenDone,
  deliver,
  handleDisconnect,
  stopWaiting,
  unlessStopped,
  whenDisconnected,
} from './answer-call.ts'
import { withBody } from './answer-body.ts'
import type { EventStream, Wire } from './event-stream.ts'
import { beginEventStream } from './event-stream.ts'
import type { CallContext, PlacedCall, UpdateListener } from './placed-call.ts'

/** Why a stream could not be ended as its dialect ends one. Its whole answer can be fetched. */
const LOST = 'Part of the stream was lost. The whole answer can be fetched:'
const RESTARTING = 'The service is restarting. The answer to this call can be fetched later:'

/** How a dialect streams an answer. */
export type FrameStream = {
  /** What is written otherwise than server-sent events, such as an event of the dialect as the sign of life. */
  wire?: Partial<Wire>
  begin: (events: EventStream) => FrameWriter
}

/** What writes the frames of one answer in its dialect. */
export type FrameWriter = {
  /** Writes the next frame, a JSON text. */
  take: (frame: string) => void
  /** Writes an answer of which no frame was sent on: a replay. */
  replay: (answer: Fields) => void
  /** Ends the stream with what the call's answer alone has, such as its usage. */
  end: (answer: Fields) => void
  /** Ends the stream with the body of an error. */
  refuse: (body: Fields) => void
  /** Ends the stream with a failure of the service. @param message what failed, and where the answer can be fetched */
  fail: (message: string) => void
}

/**
 * Streams a placed call. Until its first chunk a failure is answered with its own status; the stream begins with the
 * first chunk, or after 15 s of silence; where this process stops before that, 202 names where the answer will be, or
 * 503 asks for a retry. A client that disconnects stops the upstream's work.
 */
export async function answerWithFrames(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { updates, frames }: { updates: UpdateListener; frames: FrameStream },
): Promise<void> {
  const disconnected = whenDisconnected(ctx)
  const early = await unlessStopped(deps.stopping, () =>
    Promise.race([
      updates.framesBegin,
      placed.wait.answer,
      silence(),
      disconnected.then(() => 'disconnected' as const),
    ]),
  )
  if (early === 'disconnected') return abandon(ctx, deps, placed)
  if (early === null) return answerStopping(ctx, deps, placed)
  const hold = deps.responseMemory.hold(ctx)
  if (typeof early === 'object') {
    if (early.status !== 200) return deliver(ctx, deps, placed, early)
    // Its chunks are written at once, so there must be room for all of them.
    if (isLong(early)) hold.require(bytesOf(early))
  }
  const events = beginEventStream(ctx, hold, frames.wire)
  // Without a first byte the headers are not sent either, and routers give up after 30 s.
  if (early === 'silence') events.signOfLife()
  const writer = frames.begin(events)
  updates.attach((one) => {
    if (one.type === 'chunks') one.chunks.forEach((frame) => writer.take(frame))
  })
  endWhenDone(ctx, deps, placed, async (answer) => {
    if (!answer && !deps.stopping.aborted) return abandon(ctx, deps, placed)
    const fail = (why: string) => writer.fail(`${why} GET /v1/calls/${publicId('call', placed.callId)}`)
    const finish = (text: string) => {
      const body = JSON.parse(text) as Fields
      if (answer?.status !== 200) return writer.refuse(body)
      if (!placed.relayed?.hasBegun) writer.replay(body)
      else if (!placed.relayed.isWhole) return fail(LOST)
      writer.end(body)
    }
    if (answer) await withBody(deps, answer, finish).catch(() => fail(LOST))
    else fail(RESTARTING)
    events.end()
  })
}

const silence = (): Promise<'silence'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('silence'), HEARTBEAT_MS).unref()
  })

/** How long a stream without a chunk goes on after its client has disconnected, for a retry to join it, in ms. */
const LEFT_MS = 10_000

/**
 * The client of a stream has disconnected. A stream that has delivered something is cancelled at its worker; any other
 * only if no retry joins it. A joined call is only cancelled by the request that opened it.
 */
async function abandon(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall): Promise<void> {
  const { calls, db, queues, replies, log } = deps
  const warn = (err: unknown) => log.warn({ requestId: ctx.state.requestId, err }, 'stream not cancelled')
  if (placed.joined) return handleDisconnect(ctx, deps, placed)
  if (placed.relayed?.hasBegun) {
    stopWaiting(ctx, placed)
    await replies.cancel(placed.callId).catch(warn)
    return
  }
  await handleDisconnect(ctx, deps, placed)
  const end = async () => {
    if (!(await giveUpLeft(db, placed.callId))) return
    const refunded = await calls.refund(placed.callId, CANCELLED_UNSENT, { attempt: 0 })
    await (refunded ? queues.removeCall('chat', placed.callId) : replies.cancel(placed.callId))
  }
  setTimeout(() => {
    end().catch(warn)
  }, LEFT_MS).unref()
}
