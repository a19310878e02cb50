/**
 * What time takes away from calls: results past their time, and idempotency keys that may be used again.
 */
import type { Db } from '../db.ts'

/** Forgets results past RESULT_TTL_SECONDS; at most `limit` at a time. @returns how many. */
export async function sweepResults(db: Db, limit: number): Promise<number> {
  return db('call_results').whereIn('call_id', db('call_results').where('expires_at', '<=', db.fn.now()).orderBy('expires_at').limit(limit).select('call_id')).delete()
}

/** Frees idempotency keys past their time; at most `limit` at a time. @returns how many. */
export async function sweepIdempotencyKeys(db: Db, limit: number): Promise<number> {
  return db('calls').whereIn('id', db('calls').whereNotNull('idempotency_key').where('idempotency_expires_at', '<=', db.fn.now()).limit(limit).select('id'))
    .update({ idempotency_key: null, idempotency_expires_at: null })
}
