/**
 * Retention: deletes results past their time, frees idempotency keys, and deletes whole records if the operator has
 * set a limit.
 */
import type { Db } from '../platform/postgres/db.ts'

/** Deletes results past RESULT_TTL_SECONDS, at most `limit` at a time. @returns how many. */
export async function deleteExpiredResults(db: Db, limit: number): Promise<number> {
  return db('call_results')
    .whereIn(
      'call_id',
      db('call_results').where('expires_at', '<=', db.fn.now()).orderBy('expires_at').limit(limit).select('call_id'),
    )
    .delete()
}

/** Frees idempotency keys past their time; at most `limit` at a time. @returns how many. */
export async function freeIdempotencyKeys(db: Db, limit: number): Promise<number> {
  return db('calls')
    .whereIn(
      'id',
      db('calls')
        .whereNotNull('idempotency_key')
        .where('idempotency_expires_at', '<=', db.fn.now())
        .limit(limit)
        .select('id'),
    )
    .update({ idempotency_key: null, idempotency_expires_at: null })
}

/**
 * Deletes the records of calls that ended more than `days` days ago; at most `limit` at a time. Entries of the ledger
 * keep the id of a call whose record is gone: balances, grants and their history stay what they were. A call whose
 * result or idempotency key is still stored stays as well, no matter how old it is: a retry of it must not be charged
 * again. So does a call with uncollected credits: the account's debt is checked against it. What a call used of a
 * budget stays used (sql/keep_swept_use.sql).
 *
 * Ids sort by time (UUIDv7), so that the primary key leads to the oldest and this needs no index; ids are made by the
 * clocks of web processes, and the database's own decides. A row that is locked waits for the next run.
 * @returns how many; fewer than `limit` means that no more are due.
 */
export async function deleteOldCalls(db: Db, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    DELETE FROM calls WHERE id = ANY (ARRAY(
      SELECT c.id FROM calls c
      WHERE c.id < (lpad(to_hex((extract(epoch FROM now() - make_interval(days => :days)) * 1000)::bigint), 12,
        '0') || '70008000000000000000')::uuid
        AND c.created_at < now() - make_interval(days => :days) AND c.finished_at < now() - make_interval(days => :days)
        AND c.credits_uncollected = 0 AND c.idempotency_key IS NULL AND NOT EXISTS (SELECT FROM call_results r
          WHERE r.call_id = c.id AND r.expires_at > now())
      ORDER BY c.id LIMIT :limit FOR UPDATE OF c SKIP LOCKED))`,
    { days, limit },
  )
  return rowCount
}
