/**
 * POST /v1/audio/speech.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { SpeechModel } from '../../../shared/catalogue/catalogue.ts'
import { isLeftOut } from '../../../shared/catalogue/route-rules.ts'
import { hasAtMost } from '../../../shared/platform/text-fields.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { closed, optional } from '../../../shared/requests/field-schemas.ts'
import { speechCost } from '../../../shared/terms/pricing.ts'
import type { SpeechRequest } from '../../../shared/requests/speech.ts'
import { MAX_CHARACTERS, SPEECH_TYPES, chargedCharacters, SOUND_ENDS } from '../../../shared/requests/speech.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { modelId } from '../calls/call-schemas.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import { prefersLater } from '../calls/call-headers.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { callRequestHeaders, paidHeaders, placesCalls } from '../declared.ts'
import { PassThrough } from 'node:stream'
import { ApiError } from '../../../shared/platform/errors.ts'
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
import type { CallContext, PlacedCall, UpdateListener } from '../calls/placed-call.ts'
import { showPaid } from './sent-transcript.ts'

const spoken = z
  .string()
  .refine(
    (text) => hasAtMost(text, MAX_CHARACTERS),
    `must have at most ${MAX_CHARACTERS.toLocaleString('en-US')} characters`,
  )

const voiceName = z.string().min(1).max(200)

const speechBody = closed({
  model: modelId,
  input: spoken
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ description: 'The text: at most 4,096 characters.' }),
  voice: z
    .union([voiceName, z.strictObject({ id: voiceName })], 'must be the name of a voice, or {"id"} of one')
    .meta({ description: 'A voice of the model.' }),
  instructions: optional(spoken).meta({ description: 'How it is spoken; its characters are charged too.' }),
  response_format: optional(z.enum(Object.keys(SPEECH_TYPES) as (keyof typeof SPEECH_TYPES)[])).meta({
    description: '`mp3` if absent.',
  }),
  speed: optional(z.number().min(0.25).max(4)),
  stream_format: optional(z.enum(['audio', 'sse'])).meta({ description: '`audio` alone: sound, as it comes.' }),
}).meta({ id: 'SpeechRequest' })

type AskedSpeech = { request: SpeechRequest; estimate: null; charge: number }

/** What is asked for and what it costs. @throws ApiError invalid_request */
function parse(body: JsonObject, model: SpeechModel, headers: IncomingHttpHeaders = {}): AskedSpeech {
  if (prefersLater(headers))
    throw fieldRefusal('Prefer', 'cannot be respond-async: sound is not stored, so that it cannot be fetched later')
  const {
    model: _model,
    stream_format: streamFormat,
    response_format: format = 'mp3',
    instructions,
    speed,
    ...asked
  } = parseBody(speechBody, body)
  if (streamFormat === 'sse')
    throw fieldRefusal('stream_format', 'must be "audio": no upstream of this model has events')
  const request: SpeechRequest = {
    ...asked,
    ...(instructions !== undefined && { instructions }),
    response_format: format,
    ...(speed !== undefined && { speed }),
  }
  requireSent(request, model)
  return { request, estimate: null, charge: speechCost(model.price, chargedCharacters(request)) }
}

/** What no upstream would be sent must not be asked for in vain. */
function requireSent(request: SpeechRequest, model: SpeechModel): void {
  for (const field of ['instructions', 'speed'] as const)
    if (request[field] !== undefined && isLeftOut(field, model)) throw fieldRefusal(field, 'is not taken by this model')
}

/** What is specific to speech. */
export const speechKind: CallKind<SpeechModel, AskedSpeech> = { modality: 'speech', parse, answer: answerWithSound }

const sounds = Object.fromEntries(Object.values(SPEECH_TYPES).map((type) => [type, null]))

/** Speaks a text. Charged by its characters, and in full from the first byte of sound on. */
export const createSpeech = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/audio/speech',
    summary: 'Speak a text',
    description:
      'The sound is sent as it comes. An error before its first byte is JSON, and refunded; what breaks off after it ' +
      'ends its connection, and is charged. Sound is not stored: a retry after its end gets 410 `result_expired`.',
    headers: callRequestHeaders.omit({ Prefer: true }),
    body: speechBody,
    answers: { 200: { description: 'The sound.', content: sounds, headers: paidHeaders } },
  },
  speechKind,
)

/** The most unread bytes of a reader; beyond it the reader is cut off, so that it cannot fill our memory. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/**
 * Answers a placed call for speech with its sound, as it comes. Until its first byte a failure is answered with its own
 * status.
 * @throws ApiError result_expired for a call that another request had opened: its sound went there
 */
async function answerWithSound(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { updates, request }: { updates: UpdateListener; request: SpeechRequest },
): Promise<void> {
  const disconnected = whenDisconnected(ctx)
  const early = await unlessStopped(deps.stopping, () =>
    Promise.race([updates.framesBegin, placed.wait.answer, disconnected.then(() => 'disconnected' as const)]),
  )
  if (early === 'disconnected') return handleDisconnect(ctx, deps, placed)
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
