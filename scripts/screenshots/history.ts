import type { Db } from '../../src/shared/platform/postgres/db.ts'
import type { AccountId, KeyId } from '../../src/shared/platform/ids.ts'

/** An id as calls have it, UUIDv7, of a time: lists are sorted by it. */
const idAt = (at: string): string =>
  `(lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '7' ||
    substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`

/**
 * Gives an account a history of calls over the last 30 days, more on weekdays than on Sundays, for screenshots and
 * measurements. No credits move, so the books of such a database do not balance.
 */
export async function inventCalls(db: Db, accountId: AccountId, keyId: KeyId, count: number): Promise<void> {
  await db.raw(
    `
    INSERT INTO calls (id, account_id, key_id, user_id, modality, model, status, price, credits_precharged, credits,
      balance_after, input_tokens, output_tokens, http_status, error_type, latency_ms, upstream, attempts, request_id,
      created_at, started_at, finished_at)
    SELECT ${idAt('kind.at')}, k.account_id, k.id, k.user_id, kind.modality, kind.model, kind.status,
      '{"credits": 1}', kind.credits,
      CASE WHEN kind.status = 'succeeded' THEN kind.credits ELSE 0 END, 1000,
      CASE WHEN kind.modality = 'chat' THEN 200 END, CASE WHEN kind.modality = 'chat' THEN 300 END,
      CASE WHEN kind.status = 'succeeded' THEN 200 ELSE 502 END,
      CASE WHEN kind.status = 'failed' THEN 'upstream_failed' END,
      kind.latency, 'sandbox', 1, 'invented', kind.at, kind.at, kind.at + kind.latency * interval '1 millisecond'
    FROM (
      SELECT
        CASE WHEN n % 23 = 0 THEN 'video' WHEN n % 5 = 0 THEN 'image' ELSE 'chat' END AS modality,
        CASE WHEN n % 23 = 0 THEN 'sandbox-video' WHEN n % 5 = 0 THEN 'sandbox-image'
          WHEN n % 2 = 0 THEN 'dear-chat' ELSE 'sandbox-chat' END AS model,
        CASE WHEN n % 31 = 0 THEN 'failed' ELSE 'succeeded' END AS status,
        CASE WHEN n % 23 = 0 THEN 250 WHEN n % 5 = 0 THEN 40 ELSE 2 + n % 9 END AS credits,
        CASE WHEN n % 23 = 0 THEN 41000 WHEN n % 5 = 0 THEN 6200 ELSE 900 + n % 700 END AS latency,
        now() - interval '2 minutes' - (30.0 * power(n::float / ?, 1.15)) * interval '1 day' AS at
      FROM generate_series(1, ?::integer) n
    ) kind
    JOIN api_keys k ON k.account_id = ? AND k.id = ?
    WHERE extract(isodow FROM kind.at) < 7 OR kind.credits % 3 = 0`,
    [count, count, accountId, keyId],
  )
  await db.raw('ANALYZE calls')
}
