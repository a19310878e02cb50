/** Reads long answers from Postgres in slices, so that a slow reader costs one slice of memory and no connection. */
import { bulkhead } from 'cockatiel'
import type { Db } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'
import type { LongAnswer } from '../calls/stored-answers.ts'
import { AnswerGone, bytesOf } from '../calls/stored-answers.ts'

/** The length of a slice, in bytes. Postgres unpacks the whole output for each slice, so they are not small. */
const SLICE_BYTES = 512 * 1024

/** The most that one reader holds, in bytes: the slice being sent and the next one. */
export const READER_BYTES = 2 * SLICE_BYTES

/** How many answers are read as a whole at a time. */
const PARALLEL_WHOLES = 2

/** Reads long answers. */
export type LongAnswers = {
  /** The body in pieces of UTF-8. Reading throws AnswerGone where the result is swept meanwhile. */
  pieces: (answer: LongAnswer) => AsyncGenerator<Buffer, void, void>
  /** Hands the whole body to `use`, which must keep nothing of it: few bodies are held at a time. */
  withWhole: <T>(answer: LongAnswer, use: (body: string) => T) => Promise<T>
}

/** A reader that runs at most `parallelSlices` statements at a time, so that connections stay free for calls. */
export function createLongAnswers(db: Db, parallelSlices: number): LongAnswers {
  const slices = bulkhead(parallelSlices, Infinity)
  const wholes = bulkhead(PARALLEL_WHOLES, Infinity)
  async function* pieces({ callId, frame, outputBytes, isPassing }: LongAnswer): AsyncGenerator<Buffer, void, void> {
    yield Buffer.from(frame.head)
    const end = outputBytes - frame.skipEnd
    for (let at = frame.skipStart; at < end; at += SLICE_BYTES) {
      const from = at
      const length = Math.min(SLICE_BYTES, end - at)
      const slice = await slices.execute(() => (isPassing ? passingSliceOf : sliceOf)(db, callId, from, length))
      if (slice?.length !== length) throw new AnswerGone('a stored answer ended before it was read')
      yield slice
    }
    yield Buffer.from(frame.tail)
  }
  return {
    pieces,
    withWhole: (answer, use) =>
      wholes.execute(async () => {
        const body = Buffer.allocUnsafe(bytesOf(answer))
        let at = 0
        for await (const piece of pieces(answer)) at += piece.copy(body, at)
        return use(body.toString())
      }),
  }
}

/** Bytes of an output, from 0 on; null if there is no such result any more. */
async function sliceOf(db: Db, callId: CallId, from: number, length: number): Promise<Buffer | null> {
  const { rows } = await db
    .raw<{ rows: { slice: Buffer }[] }>(
      `
    SELECT substring(convert_to(output, 'UTF8') FROM ? FOR ?) AS slice FROM call_results WHERE call_id = ?`,
      [from + 1, length, callId],
    )
    .options({ name: 'read_slice' })
  return rows[0]?.slice ?? null
}

/** The same of an output that is on its way. */
async function passingSliceOf(db: Db, callId: CallId, from: number, length: number): Promise<Buffer | null> {
  const { rows } = await db
    .raw<{ rows: { slice: Buffer }[] }>(
      'SELECT substring(output FROM ? FOR ?) AS slice FROM passing_answers WHERE call_id = ?',
      [from + 1, length, callId],
    )
    .options({ name: 'read_passing_slice' })
  return rows[0]?.slice ?? null
}
