/**
 * The answer of an ended call: composed from its row and its stored output by one function, so that the waiting
 * request, a later `GET /v1/calls/{id}` and an idempotent replay get the very same bytes. Pure.
 *
 * An output is JSON text: of what counts tokens (chats, embeddings, rankings) the answer in its dialect, with a
 * non-empty `usage` as its last member; of everything else the answer without one; of a failure the error object, which
 * begins with its `type`. Credits and balance are known only once the settlement is made, after the output was written,
 * and are spliced in behind it: the text is never parsed and serialized again.
 */
import type { ErrorCode, GatewayError } from '../platform/errors.ts'
import { gatewayError, statusOf as statusOfCode } from '../platform/errors.ts'
import type { CallId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Dialect } from '../chat/dialect.ts'
import { dialectOf } from '../chat/dialect.ts'
import type { MediaName } from '../media/media.ts'
import { parseMediaName } from '../media/media.ts'
import type { Modality } from '../terms/kinds.ts'
import { KINDS } from '../terms/kinds.ts'
import type { CallStatus } from '../terms/lifecycle.ts'

/** The result was deleted while it was read. Its reader sees a broken connection. */
export class AnswerGone extends Error {}

/** A finished HTTP answer. `pictures`: names in its body, in whose places the bytes of stored pictures are sent. */
export type Answer = { status: number; body: string; pictures?: readonly MediaName[] }

/**
 * What surrounds a stored output in its answer. `skipStart` and `skipEnd`: how many characters of the output, all
 * of them ASCII, are omitted at its ends.
 */
type Frame = { head: string; skipStart: number; skipEnd: number; tail: string }

/**
 * A finished answer whose output is too long to be held: it is read from its row piece by piece (`long-answers.ts`).
 * `isPassing`: the row is one of `passing-answers.ts`.
 */
export type LongAnswer = { status: number; callId: CallId; frame: Frame; outputBytes: number; isPassing?: true }

/** Outputs of more bytes than this are not read as a whole. */
export const INLINE_BYTES = 64 * 1024

/** Whether an answer is to be read from its row. */
export const isLong = (answer: Answer | LongAnswer): answer is LongAnswer => 'frame' in answer

/** The length of a long answer's body, in bytes. */
export const bytesOf = ({ frame, outputBytes }: LongAnswer): number =>
  frame.head.length + outputBytes - frame.skipStart - frame.skipEnd + frame.tail.length

/** The answer of an ended call whose result is no longer stored. */
export const EXPIRED: Answer = {
  status: statusOfCode('result_expired'),
  body: JSON.stringify({ ok: false, error: gatewayError('result_expired') }),
}

/** The columns of an ended call that its answer shows: a failure is the same in each modality. Times in ms. */
export type EndedCall = { callId: CallId; dialect: Dialect | null; httpStatus: number } & (
  | { status: 'failed'; errorType: ErrorCode | null }
  | {
      status: Exclude<CallStatus, 'failed'>
      modality: Modality
      credits: number
      balanceAfter: number
      latencyMs: number
    }
)

/** The stored output of an image or video call; `created` in Unix seconds. */
export const mediaOutput = (created: number, urls: string[]): string =>
  JSON.stringify({ created, data: urls.map((url) => ({ url })) })

/** The stored output of an image call whose client wants bytes: it has their names in our storage instead. */
export const imagesOutput = (created: number, names: MediaName[]): string =>
  JSON.stringify({ created, data: names.map((name) => ({ b64_json: name })) })

/** A place where the bytes of a picture belong. A quote within any other text of JSON would be escaped. */
const PICTURE = /"b64_json":"([^"]*)"/g

const picturesOf = (output: string): MediaName[] =>
  [...output.matchAll(PICTURE)].flatMap(([, name]) => parseMediaName(name!) ?? [])

/** The stored output of a failed call. */
export const errorOutput = (error: GatewayError): string => JSON.stringify(error)

/** The answer of an ended call. */
export function answerOf(call: EndedCall, output: string): Answer {
  const { errors } = dialectOf(call.dialect)
  if (call.status === 'failed' && errors) {
    const error = JSON.parse(output) as GatewayError
    return { status: statusOf(call), body: JSON.stringify(errors.stored(error, publicId('call', call.callId))) }
  }
  const { head, skipStart, skipEnd, tail } = frameOf(call)
  const body = `${head}${output.slice(skipStart, output.length - skipEnd)}${tail}`
  const pictures = call.status === 'succeeded' && call.modality === 'image' ? picturesOf(output) : []
  return { status: statusOf(call), body, ...(pictures.length > 0 && { pictures }) }
}

/** The answer of an ended call whose output of this many bytes is read from where it is stored. */
export const longAnswerOf = (call: EndedCall, outputBytes: number): LongAnswer => ({
  status: statusOf(call),
  callId: call.callId,
  frame: frameOf(call),
  outputBytes,
})

/** The answer of a call whose output is on its way to the waiting request. */
export const passingAnswerOf = (call: EndedCall, outputBytes: number): LongAnswer => ({
  ...longAnswerOf(call, outputBytes),
  isPassing: true,
})

/** Some errors have another status in other dialects. */
function statusOf(call: EndedCall): number {
  if (call.status !== 'failed' || call.errorType === null) return call.httpStatus
  return dialectOf(call.dialect).errors?.statusOf(call.errorType) ?? call.httpStatus
}

function frameOf(call: EndedCall): Frame {
  if (call.status === 'failed') return { head: '{"ok":false,"error":', skipStart: 0, skipEnd: 0, tail: '}' }
  const money = `"credits":${call.credits},"balance":${call.balanceAfter}`
  if (dialectOf(call.dialect).errors) return { head: '', skipStart: 0, skipEnd: 2, tail: `,${money}}}` }
  // Nothing of it is stored: it was sent as it came.
  if (call.modality === 'speech') return { head: '', skipStart: 0, skipEnd: 0, tail: '' }
  return KINDS[call.modality].hasUsage
    ? { head: '{"ok":true,', skipStart: 1, skipEnd: 2, tail: `,${money}}}` }
    : { head: '{"ok":true,', skipStart: 1, skipEnd: 1, tail: `,"usage":{${money},"latencyMs":${call.latencyMs}}}` }
}
