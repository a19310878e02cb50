/**
 * Retention: deletes results past their time, and frees idempotency keys; and what is erased of a deleted account's
 * calls, whose records of what was charged stay. Whole records go by month (months.ts).
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
