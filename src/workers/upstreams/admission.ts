/**
 * How an answer of an upstream takes its room in this process: while its first bytes are there and the rest is still
 * with its upstream.
 */
import type { UpstreamContext } from './adapter.ts'
import type { AnswerBody } from './reader.ts'

const MEGABYTE = 1024 * 1024

/**
 * About how long large answers are that do not state their length, in bytes; null of what is passed on as it comes. One
 * that turns out longer takes the room of the largest.
 */
const EXPECTED_BYTES = {
  chat: MEGABYTE,
  stream: null,
  image: 24 * MEGABYTE,
  embedding: 8 * MEGABYTE,
  brief: 4 * MEGABYTE,
  speech: null,
  transcription: 4 * MEGABYTE,
  submit: MEGABYTE,
  poll: 8 * MEGABYTE,
} as const

/** What of an answer is not counted, in bytes. */
const UNCOUNTED_BYTES = 64 * 1024

/** How long an answer may be, and is expected to be, in bytes; null: it is passed on as it comes. */
export type Bound = Pick<AnswerBody, 'maxBytes' | 'isChat'> & { expectedBytes: number | null }

/** How long an answer is, as it states itself, or as its request expects, or as those of its kind are. */
export function expectedOf(
  { kind, expectedBytes }: { kind: keyof typeof EXPECTED_BYTES; expectedBytes?: number },
  headers: Readonly<Record<string, string | string[] | undefined>>,
): number | null {
  const stated = headers['content-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0
  const usual = EXPECTED_BYTES[kind]
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
