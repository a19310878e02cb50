/** What is erased of a deleted account's calls. The record of what was charged stays. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, CallId } from '../platform/ids.ts'

/** Forgets the answers of an account's calls, and the keys and requests that retries would find them by. */
export async function forgetAnswers(trx: Trx, accountId: AccountId): Promise<void> {
  await trx.raw('DELETE FROM call_results r USING calls c WHERE c.id = r.call_id AND c.account_id = ?', [accountId])
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
