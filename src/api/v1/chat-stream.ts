/**
 * A chat answer as a stream in OpenAI's form: chunks, a last one with the usage, then `[DONE]` (docs/api.md#streaming).
 */
import { gatewayError } from '../../shared/errors.ts'
import { publicId } from '../../shared/ids.ts'
import { bytesOf, isLong } from '../../shared/calls/answers.ts'
import type { CallUpdate } from '../../shared/calls/channels.ts'
import type { AnswerDeps } from './answer.ts'
import { HEARTBEAT_MS, accepted, afterwards, deliver, leave, unlessStopped, whenDisconnected } from './answer.ts'
import { withBody } from './answer-body.ts'
import type { EventStream } from './event-stream.ts'
import { beginEventStream } from './event-stream.ts'
import type { UpdateListener } from './updates.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'

type Completion = { id: string; created: number; model: string; choices: Choice[]; usage: Record<string, unknown> }
type Choice = { index: number; message: { tool_calls?: object[]; [field: string]: unknown }; finish_reason: string }

/**
 * Streams a placed call. Until its first chunk a failure is answered with its own status; the stream begins with the
 * first chunk, or after 15 s of silence; where this process stops before that, 202 says where the answer will be. A
 * client that leaves stops the upstream's work.
 */
export async function answerWithChunks(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  updates: UpdateListener,
): Promise<void> {
  const left = whenDisconnected(ctx)
  const chunks = new ChunkWriter(placed)
  const first = new Promise<'begin'>((resolve) =>
    updates.attach((one) => {
      if (one.type !== 'chunks') return
      chunks.take(one)
      resolve('begin')
    }),
  )
  const early = await unlessStopped(deps.stopping, () =>
    Promise.race([first, placed.wait.answer, silence(), left.then(() => 'left' as const)]),
  )
  if (early === 'left') return abandon(ctx, deps, placed)
  if (early === null) return accepted(ctx, placed, null)
  const hold = deps.outgoing.hold(ctx)
  if (typeof early === 'object') {
    if (early.status !== 200) return deliver(ctx, deps, placed, early)
    // Its chunks are written at once, so there must be room for all of them.
    if (isLong(early)) hold.require(bytesOf(early))
  }
  const events = beginEventStream(ctx, hold)
  // Without a first byte the headers are not sent either, and routers give up after 30 s.
  if (early === 'silence') events.comment()
  chunks.writeTo(events)
  afterwards(ctx, deps, placed, async (answer) => {
    if (!answer && !deps.stopping.aborted) return abandon(ctx, deps, placed)
    if (answer)
      await withBody(deps, answer, (body) => chunks.finish(answer.status, body)).catch(() => chunks.fail(LOST))
    else chunks.fail('The service is restarting. The answer to this call can be fetched later:')
    events.end()
  })
}

const silence = (): Promise<'silence'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('silence'), HEARTBEAT_MS).unref()
  })

/**
 * The client of a stream has gone: a queued call is refunded, a running one is cancelled at its worker. A joined call
 * is only cancelled by the request that opened it.
 */
async function abandon(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall): Promise<void> {
  if (placed.joined) return leave(ctx, deps, placed)
  const error = gatewayError(
    'upstream_failed',
    'The client disconnected before the call began. The credits charged for it were refunded.',
  )
  const warn = (cause: unknown) => deps.log.warn({ requestId: ctx.state.requestId, err: cause }, 'stream not cancelled')
  // Before the call is marked as abandoned: a retry must not join a call that is then refunded.
  const refunded = await deps.calls.refund(placed.callId, error, { from: 'queued' }).catch(warn)
  await leave(ctx, deps, placed)
  if (!refunded) await deps.replies.cancel(placed.callId).catch(warn)
}

const LOST = 'Part of the stream was lost. The whole answer can be fetched:'

/** Writes the chunks of a placed call. */
class ChunkWriter {
  private early: string[] | null = []
  private events: EventStream | null = null
  private readonly placed: PlacedCall

  constructor(placed: PlacedCall) {
    this.placed = placed
  }

  take({ chunks }: CallUpdate & { type: 'chunks' }): void {
    for (const chunk of chunks) {
      if (this.events) this.events.send(chunk)
      else this.early?.push(chunk)
    }
  }

  writeTo(events: EventStream): void {
    this.events = events
    this.early?.forEach((chunk) => events.send(chunk))
    this.early = null
  }

  /** The end of the stream, from the call's answer. */
  finish(status: number, text: string): void {
    const { relayed } = this.placed
    const body = JSON.parse(text) as { error?: object } & Completion
    if (status !== 200) return this.sendError(body.error!)
    if (!relayed?.hasBegun) this.sendWhole(body)
    else if (!relayed.isWhole) return this.fail(LOST)
    this.send(body, { choices: [], usage: body.usage })
    this.events?.send('[DONE]')
  }

  fail(sentence: string): void {
    const where = `/v1/calls/${publicId('call', this.placed.callId)}`
    this.sendError(gatewayError('service_unavailable', `${sentence} GET ${where}`))
  }

  private sendError(error: object): void {
    this.events?.send(JSON.stringify({ ok: false, error }))
  }

  /** An answer of which no chunk came this way (a replay): one chunk a choice. */
  private sendWhole(body: Completion): void {
    for (const { index, message, finish_reason } of body.choices) {
      const delta = message.tool_calls
        ? { ...message, tool_calls: message.tool_calls.map((call, at) => ({ index: at, ...call })) }
        : message
      this.send(body, { choices: [{ index, delta, finish_reason: null }] })
      this.send(body, { choices: [{ index, delta: {}, finish_reason }] })
    }
  }

  private send({ id, created, model }: Completion, fields: object): void {
    this.events?.send(JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields }))
  }
}
