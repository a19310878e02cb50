/**
 * A chat answer as a stream in OpenAI's form: chunks, the last one with the usage, then `[DONE]`
 * (docs/api.md#streaming). Many clients read `choices[0]` of every chunk: one without choices is sent only to those
 * that ask for it by `stream_options.include_usage`.
 */
import { gatewayError } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { bytesOf, isLong } from '../../../shared/replies/stored-answers.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { giveUpLeft } from '../../../shared/calls/numbered-retries.ts'
import type { AnswerDeps } from './answer-call.ts'
import {
  HEARTBEAT_MS,
  accepted,
  afterwards,
  deliver,
  dismiss,
  leave,
  unlessStopped,
  whenDisconnected,
} from './answer-call.ts'
import { withBody } from './answer-body.ts'
import type { EventStream } from './event-stream.ts'
import { beginEventStream } from './event-stream.ts'
import type { UpdateListener } from './call-updates.ts'
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
  { request, updates }: { request: ChatRequest; updates: UpdateListener },
): Promise<void> {
  const left = whenDisconnected(ctx)
  const chunks = new ChunkWriter(placed, asksForUsage(request))
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
  const hold = deps.responseMemory.hold(ctx)
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

const asksForUsage = ({ stream_options: options }: ChatRequest): boolean =>
  (options as { include_usage?: boolean } | undefined)?.include_usage === true

const silence = (): Promise<'silence'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('silence'), HEARTBEAT_MS).unref()
  })

/** How long a stream that was left before its first chunk goes on, for a retry to join it, in ms. */
const LEFT_MS = 10_000

/**
 * The client of a stream has gone. One that has delivered something is cancelled at its worker; another is so where no
 * retry joins it. A joined call is only cancelled by the request that opened it.
 */
async function abandon(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall): Promise<void> {
  const { calls, db, queues, replies, log } = deps
  const warn = (err: unknown) => log.warn({ requestId: ctx.state.requestId, err }, 'stream not cancelled')
  if (placed.joined) return leave(ctx, deps, placed)
  if (placed.relayed?.hasBegun) {
    dismiss(ctx, placed)
    await replies.cancel(placed.callId).catch(warn)
    return
  }
  await leave(ctx, deps, placed)
  const end = async () => {
    if (!(await giveUpLeft(db, placed.callId))) return
    const refunded = await calls.refund(placed.callId, NOT_BEGUN, { from: 'queued' })
    await (refunded ? queues.removeCall('chat', placed.callId) : replies.cancel(placed.callId))
  }
  setTimeout(() => {
    end().catch(warn)
  }, LEFT_MS).unref()
}

const NOT_BEGUN = gatewayError(
  'upstream_failed',
  'The client disconnected before the call began. The credits charged for it were refunded.',
)

const LOST = 'Part of the stream was lost. The whole answer can be fetched:'

/**
 * What a chunk contains in which a choice ends. It is JSON of our own making: within a text the quotes would be
 * escaped.
 */
const END_OF_CHOICE = '"finish_reason":"'

/**
 * Writes the chunks of a placed call. From the first end of a choice on the newest chunk is held back: the last one is
 * to carry the usage.
 */
class ChunkWriter {
  private early: string[] | null = []
  private events: EventStream | null = null
  private held: string | null = null
  private readonly placed: PlacedCall
  private readonly ownUsage: boolean

  /** @param ownUsage whether the usage is sent in a chunk of its own, which has no choices */
  constructor(placed: PlacedCall, ownUsage: boolean) {
    this.placed = placed
    this.ownUsage = ownUsage
  }

  take({ chunks }: CallUpdate & { type: 'chunks' }): void {
    for (const chunk of chunks) {
      if (this.events) this.pass(chunk)
      else this.early?.push(chunk)
    }
  }

  writeTo(events: EventStream): void {
    this.events = events
    this.early?.forEach((chunk) => this.pass(chunk))
    this.early = null
  }

  /** The end of the stream, from the call's answer. */
  finish(status: number, text: string): void {
    const { relayed } = this.placed
    const body = JSON.parse(text) as { error?: object } & Completion
    if (status !== 200) return this.sendError(body.error!)
    if (!relayed?.hasBegun) this.sendWhole(body)
    else if (!relayed.isWhole) return this.fail(LOST)
    this.sendUsage(body)
    this.events?.send('[DONE]')
  }

  fail(sentence: string): void {
    const where = `/v1/calls/${publicId('call', this.placed.callId)}`
    this.sendError(gatewayError('service_unavailable', `${sentence} GET ${where}`))
  }

  private pass(chunk: string): void {
    const isHeld = this.held !== null || chunk.includes(END_OF_CHOICE)
    this.release()
    if (isHeld) this.held = chunk
    else this.events?.send(chunk)
  }

  private release(): void {
    if (this.held !== null) this.events?.send(this.held)
    this.held = null
  }

  private sendUsage(body: Completion): void {
    const { usage } = body
    const last = this.held
    if (this.ownUsage || last === null) {
      this.release()
      this.events?.send(chunkOf(body, { choices: [], usage }))
    } else this.events?.send(JSON.stringify({ ...(JSON.parse(last) as object), usage }))
  }

  private sendError(error: object): void {
    this.release()
    this.events?.send(JSON.stringify({ ok: false, error }))
  }

  /** An answer of which this request got no chunk (a replay): the content and the end of each choice. */
  private sendWhole(body: Completion): void {
    for (const { index, message, finish_reason } of body.choices) {
      const delta = message.tool_calls
        ? { ...message, tool_calls: message.tool_calls.map((call, at) => ({ index: at, ...call })) }
        : message
      this.pass(chunkOf(body, { choices: [{ index, delta, finish_reason: null }] }))
      this.pass(chunkOf(body, { choices: [{ index, delta: {}, finish_reason }] }))
    }
  }
}

const chunkOf = ({ id, created, model }: Completion, fields: object): string =>
  JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields })
