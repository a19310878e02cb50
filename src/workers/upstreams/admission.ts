/**
 * How an answer of an upstream takes its room in this process: while its first bytes are there and the rest is still
 * with its upstream.
 */
import type { Kind, Modality } from '../../shared/terms/kinds.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import type { UpstreamContext } from './adapter.ts'
import type { AnswerBody } from './reader.ts'

const MEGABYTE = 1024 * 1024

/**
 * A request for a whole answer of a kind of call, or
 * - `stream`: for a chat as a stream.
 * - `submit`: the submission of a task, with a data URI perhaps.
 * - `poll`: reading or cancelling a task.
 */
export type RequestKind = Modality | 'stream' | 'submit' | 'poll'

/** What is expected of the answer to each kind of request; one that turns out longer takes the room of the largest. */
export const ANSWERS: Record<RequestKind, Pick<Kind, 'answer' | 'isSentOnce'>> = {
  ...KINDS,
  stream: { isSentOnce: false, answer: { ...KINDS.chat.answer, expectedBytes: null } },
  // A task is submitted as a video is, also one that makes images.
  submit: KINDS.video,
  poll: { isSentOnce: false, answer: { maxBytes: 96 * MEGABYTE, expectedBytes: 8 * MEGABYTE } },
}

/** What of an answer is not counted, in bytes. */
const UNCOUNTED_BYTES = 64 * 1024

/** How long an answer may be, and is expected to be, in bytes; null: it is passed on as it comes. */
export type Bound = Pick<AnswerBody, 'maxBytes' | 'isChat'> & { expectedBytes: number | null }

/** How long an answer is, as it states itself, or as its request expects, or as those of its kind are. */
export function expectedOf(
  { kind, expectedBytes }: { kind: RequestKind; expectedBytes?: number },
  headers: Readonly<Record<string, string | string[] | undefined>>,
): number | null {
  const stated = headers['content-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0
  const usual = ANSWERS[kind].answer.expectedBytes
  return usual === null ? null : stated || (expectedBytes ?? usual)
}

/** Takes the room of an answer: of what it is expected to have, and of the largest once it has more. */
export function admission(
  { maxBytes, expectedBytes }: Bound,
  { room, signal }: Pick<UpstreamContext, 'room' | 'signal'>,
): Required<Pick<AnswerBody, 'admit'>> & { end: () => void } {
  let admitted = UNCOUNTED_BYTES
  let size = 0
  return {
    admit: (bytes) => {
      size = bytes
      if (!room || expectedBytes === null || bytes <= admitted || bytes > maxBytes) return null
      admitted = bytes <= expectedBytes ? Math.min(expectedBytes, maxBytes) : maxBytes
      return room.take(admitted, signal)
    },
    end: () => room?.lowerTo(size),
  }
}
