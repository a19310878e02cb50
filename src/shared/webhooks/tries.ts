/** The tries of a delivery: what was answered each time, and why it was no success. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { DeliveryId } from '../platform/ids.ts'

/**
 * Why a try was no success: nothing may be sent to the address; its name does not resolve; there is no connection; its
 * certificate is not valid; it did not answer in time; the connection broke off; it answered with another status than
 * 2xx; our own secret cannot be read. Private addresses are `not_allowed` before anything is sent to them.
 */
export const FAILURE_NOTES = [
  'not_allowed',
  'unresolved',
  'unreachable',
  'untrusted',
  'timeout',
  'no_answer',
  'refused',
  'no_secret',
] as const
/** Why a try was no success. */
export type FailureNote = (typeof FAILURE_NOTES)[number]

/** What a receiver answered: the HTTP status, if there was one, after how many ms, and how its answer began. */
export type Answered = { status: number | null; ms: number; start?: string | null }

/** The most tries that are shown of a delivery, the newest. */
const SHOWN = 50

/** Records a try, unless its delivery was deleted meanwhile. `note` null: it succeeded. */
export async function recordTry(
  trx: Trx,
  id: DeliveryId,
  { status, ms, start = null, note }: Answered & { note: FailureNote | null },
): Promise<void> {
  await trx.raw(
    `INSERT INTO webhook_tries (delivery_id, answer_status, answer_ms, note, answer)
     SELECT d.id, ?::integer, ?::integer, ?, ? FROM webhook_deliveries d WHERE d.id = ? FOR KEY SHARE`,
    [status, ms, note, start, id],
  )
}

/** A try. `at` is its end; `answer` how the answer began, of a failure. */
export type ShownTry = {
  at: string
  status: number | null
  ms: number | null
  note: FailureNote | null
  answer: string | null
}

type TryRow = Omit<ShownTry, 'at'> & { ended_at: Date }

/** The newest tries of a delivery, the newest first. */
export async function listTries(db: Db, id: DeliveryId): Promise<ShownTry[]> {
  const rows = await db('webhook_tries')
    .where({ delivery_id: id })
    .orderBy('id', 'desc')
    .limit(SHOWN)
    .select<TryRow[]>('ended_at', 'answer_status as status', 'answer_ms as ms', 'note', 'answer')
  return rows.map(({ ended_at: at, ...rest }) => ({ at: at.toISOString(), ...rest }))
}
