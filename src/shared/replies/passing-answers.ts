/**
 * Answers on their way from a worker to the request that waits for them, and not stored after that: those of
 * embeddings, which may have 40 MB. They pass through a table, because Redis holds everything in memory and disconnects
 * a subscriber that is behind; it is not logged, and so in no backup (docs/architecture.md#passing-answers).
 */
import type { Db } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'

/** How long an answer is there to be read, in seconds. */
const PASSING_SECONDS = 120

/** Puts an answer on its way, before its call is settled. A second run of the call replaces the answer of the first. */
export async function putPassing(db: Db, callId: CallId, output: Buffer): Promise<void> {
  await db.raw(
    `
    INSERT INTO passing_answers (call_id, output) VALUES (?, ?)
    ON CONFLICT (call_id) DO UPDATE SET output = EXCLUDED.output, created_at = now()`,
    [callId, output],
  )
}

/** Deletes answers past their time, read or not. @returns how many. */
export const deletePassed = (db: Db): Promise<number> =>
  db('passing_answers')
    .where('created_at', '<', db.raw('now() - make_interval(secs => ?)', [PASSING_SECONDS]))
    .delete()
