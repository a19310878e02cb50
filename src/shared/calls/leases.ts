/**
 * The leases of open calls (docs/architecture.md#begin). A begin takes one (`statements.ts`); these read, extend and
 * end them.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'
import { DEADLINE_GRACE_SECONDS, OPEN_STATUSES } from '../terms/lifecycle.ts'
import type { StaleCall } from './types.ts'

/** A call, and the attempt that has it: 0 before any. */
export type CallAttempt = { id: CallId; attempt: number }

/** How long the lease of an open call lasts, in ms; null if the call has ended. */
export async function leaseOf(db: Db, id: CallId): Promise<number | null> {
  const row = await db('calls')
    .where({ id })
    .whereIn('status', OPEN_STATUSES)
    .first<{ ms: number } | undefined>(
      db.raw('greatest(0, ceil(extract(epoch FROM lease_until - now()) * 1000))::integer AS ms'),
    )
  return row?.ms ?? null
}

/** Ends the lease of a call that this attempt may have sent, and hands back: the next run need not wait for it. */
export async function releaseLease(db: Db, id: CallId, attempt: number): Promise<void> {
  await db('calls').where({ id, attempts: attempt, status: 'running' }).update({ lease_until: db.fn.now() })
}

/**
 * Extends the leases of open calls to this many seconds, each unless a later attempt has begun it.
 * @returns the calls that were extended. An asynchronous begin that a crash of Postgres lost is no later attempt.
 */
export async function renewLeases(db: Db, attempts: readonly CallAttempt[], seconds: number): Promise<CallId[]> {
  if (attempts.length === 0) return []
  // In the order in which every statement locks calls.
  const sorted = attempts.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const { rows } = await db.raw<{ rows: { id: CallId }[] }>(
    `
    UPDATE calls c SET lease_until = greatest(c.lease_until, now() + make_interval(secs => ?))
    FROM unnest(?::uuid[], ?::integer[]) AS given (id, attempt)
    WHERE c.id = given.id AND c.id BETWEEN ? AND ? AND c.status IN ('queued', 'running') AND c.attempts <= given.attempt
    RETURNING c.id`,
    [seconds, sorted.map(({ id }) => id), sorted.map(({ attempt }) => attempt), sorted[0]!.id, sorted.at(-1)!.id],
  )
  return rows.map(({ id }) => id)
}

/** Open calls whose lease has passed, `limit` at most: the reconciler's work. */
export async function findStale(db: Db, limit: number): Promise<StaleCall[]> {
  const { rows } = await db.raw<{ rows: StaleCall[] }>(
    `
    SELECT id, account_id AS "accountId", modality, model, catalogue_version AS "catalogueVersion", status,
      attempts AS attempt,
      request_id AS "requestId", reply_to AS "replyTo", upstream_ref IS NOT NULL AS submitted,
      deadline_at + make_interval(secs => ?) < now() AS overdue
    FROM calls WHERE finished_at IS NULL AND lease_until < now()
    -- First what is queued: of those that run, the jobs of some are still at work.
    ORDER BY status, lease_until LIMIT ?`,
    [DEADLINE_GRACE_SECONDS, limit],
  )
  return rows
}
