/**
 * Retention: deletes results past their time, frees idempotency keys, and deletes whole records if the operator has
 * set a limit; and what is erased of a deleted account's calls, whose records of what was charged stay.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, CallId } from '../platform/ids.ts'

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
 * budget stays used (sql/keep_swept_use.sql), and its usage stays in the reports: what is not folded is not deleted.
 *
 * Ids sort by time (UUIDv7), so that the primary key leads to the oldest and this needs no index; ids are made by the
 * clocks of web processes, and the database's own decides. A row that is locked waits for the next run.
 * @returns how many; fewer than `limit` means that no more are due.
 */
export async function deleteOldCalls(db: Db, days: number, limit: number): Promise<number> {
  const { rows } = await db.raw<{ rows: { deleted: number }[] }>(
    `
    WITH gone AS (
      DELETE FROM calls WHERE id = ANY (ARRAY(
        SELECT c.id FROM calls c
        WHERE c.id < (lpad(to_hex((extract(epoch FROM now() - make_interval(days => :days)) * 1000)::bigint), 12,
          '0') || '70008000000000000000')::uuid
          AND c.created_at < now() - make_interval(days => :days)
          AND c.finished_at < least(now() - make_interval(days => :days),
            (SELECT w.folded_until FROM usage_watermark w WHERE w.id))
          AND c.credits_uncollected = 0 AND c.idempotency_key IS NULL AND NOT EXISTS (SELECT FROM call_results r
            WHERE r.call_id = c.id AND r.expires_at > now())
        ORDER BY c.id LIMIT :limit FOR UPDATE OF c SKIP LOCKED))
      RETURNING id
    ), marked AS (
      UPDATE usage_watermark w SET records_from = greatest(w.records_from, newest.day)
      FROM (SELECT date_trunc('day', max(accepted_at(g.id)), 'UTC') + interval '1 day' AS day FROM gone g) newest
      WHERE w.id AND newest.day > w.records_from
    )
    SELECT count(*) AS deleted FROM gone`,
    { days, limit },
  )
  return rows[0]!.deleted
}

/** Forgets the answers of an account's calls, and the keys and requests that retries would find them by. */
export async function forgetAnswers(trx: Trx, accountId: AccountId): Promise<void> {
  await trx.raw('DELETE FROM call_results r USING calls c WHERE c.id = r.call_id AND c.account_id = ?', [accountId])
  await trx.raw('DELETE FROM call_tries t USING calls c WHERE c.id = t.call_id AND c.account_id = ?', [accountId])
  await trx('calls')
    .where({ account_id: accountId })
    .whereNotNull('idempotency_key')
    .update({ idempotency_key: null, idempotency_expires_at: null })
}

/** Calls of an account whose media results have not been removed, with their addresses. */
export const callsWithMedia = async (
  db: Db,
  accountId: AccountId,
  limit: number,
): Promise<{ id: CallId; resultUrls: string[] }[]> =>
  db('calls')
    .where({ account_id: accountId })
    .whereNotNull('result_url')
    .limit(limit)
    .select<{ id: CallId; resultUrls: string[] }[]>(
      'id',
      db.raw('result_url || coalesce(more_result_urls, \'{}\') AS "resultUrls"'),
    )

/** Forgets where the media results of these calls were. */
export async function forgetMedia(db: Db, ids: readonly CallId[]): Promise<void> {
  await db('calls')
    .whereIn('id', [...ids])
    .update({ result_url: null, more_result_urls: null })
}
