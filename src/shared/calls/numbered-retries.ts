/**
 * Retries: which unanswered call of the same member and request a retry joins. A retry takes a call over by one
 * guarded update, so that of several retries each gets another call. One that an SDK numbers is known to be one, and
 * searches for its call itself; for the others `sql/claim_left_call.sql` does so when they would open another.
 */
import { KEY_MAY_CALL } from '../identity/key-lookup.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, CallId, KeyId, UserId } from '../platform/ids.ts'

/** How old a call may be that a retry joins, in seconds. */
const RETRY_WINDOW_SECONDS = 600

/**
 * Answers written this many seconds before the last heartbeat of a dead process count as unsent, because its clock
 * and that of Postgres differ.
 */
const DEATH_MARGIN_SECONDS = 2

/**
 * A retry. `keyId`: the key that it came with; `userId`: the member whose it is; `requestHash` in hex; `replyTo`: the
 * web process that will answer it.
 */
export type Retry = { accountId: AccountId; userId: UserId; keyId: KeyId; requestHash: string; replyTo: string }

/** A web process that is gone. `lastSeenMs`: its last heartbeat, Unix time in ms; null if it left none. */
export type DeadProcess = { address: string; lastSeenMs: number | null }

/**
 * A call whose answer can still be given: it is open, or it succeeded and its result is kept. A failed call is not
 * joined; the retry opens a new one. Postgres reads a call that was being ended meanwhile again, and the function then
 * sees its result; a subquery would still have the earlier snapshot.
 */
const ANSWERABLE = `(c.finished_at IS NULL AND c.deleted_at IS NULL
  OR c.status = 'succeeded' AND result_is_kept(c.id))`

/**
 * The calls that a retry may be a retry of: none for a key that was revoked or expired meanwhile, or one of a suspended
 * account, since no charge checks it again.
 */
const OF_REQUEST = `c.account_id = :accountId AND c.request_hash = decode(:requestHash, 'hex')
  AND c.user_id = :userId AND ${KEY_MAY_CALL}`
const OF_RETRY = `${OF_REQUEST} AND c.created_at > now() - make_interval(secs => :window)`

/**
 * Takes over the oldest call whose requester is known to have gone unanswered. Postgres checks the row again after it
 * has waited for another retry's lock, and goes on to the next one: SKIP LOCKED would pass over a call that is just
 * being ended or renewed.
 * @returns null where there is none.
 */
export function claimUnanswered(db: Db, retry: Retry): Promise<CallId | null> {
  return claim(
    db,
    'claim_left',
    `
    SELECT c.id FROM calls c
    WHERE ${OF_RETRY} AND c.abandoned_at IS NOT NULL AND ${ANSWERABLE}
    ORDER BY c.id LIMIT 1 FOR NO KEY UPDATE OF c`,
    retry,
  )
}

/**
 * Takes over the oldest call that was waited for by a process which died: it is open, or it ended when that process
 * could no longer answer it.
 */
export function claimOfDeadProcess(db: Db, retry: Retry, dead: readonly DeadProcess[]): Promise<CallId | null> {
  return claim(
    db,
    'claim_orphan',
    `
    SELECT c.id FROM calls c
    JOIN unnest(:addresses::text[], :lastSeen::bigint[]) AS dead (address, last_seen_ms) ON dead.address = c.reply_to
    WHERE ${OF_RETRY} AND c.abandoned_at IS NULL AND ${ANSWERABLE}
      AND (c.finished_at IS NULL
        OR c.finished_at > to_timestamp(dead.last_seen_ms / 1000.0) - make_interval(secs => :margin))
    ORDER BY c.id LIMIT 1 FOR NO KEY UPDATE OF c`,
    retry,
    {
      addresses: dead.map(({ address }) => address),
      lastSeen: dead.map(({ lastSeenMs }) => lastSeenMs),
      margin: DEATH_MARGIN_SECONDS,
    },
  )
}

async function claim(
  db: Db,
  name: string,
  oldest: string,
  retry: Retry,
  more: Record<string, unknown> = {},
): Promise<CallId | null> {
  const { rows } = await db
    .raw<{ rows: { id: CallId }[] }>(
      `
    UPDATE calls SET abandoned_at = NULL, reply_to = :replyTo WHERE id = (${oldest}) RETURNING id`,
      { ...retry, window: RETRY_WINDOW_SECONDS, ...more },
    )
    .options({ name })
  return rows[0]?.id ?? null
}

/**
 * Takes an open call that was left, and that no retry has joined, from every retry that may come: to end it.
 * @returns false where a retry has joined it, or it has ended
 */
export async function giveUpLeft(db: Db, id: CallId): Promise<boolean> {
  const changed = await db('calls')
    .where({ id })
    .whereNotNull('abandoned_at')
    .whereNull('finished_at')
    .update({ abandoned_at: null })
  return changed === 1
}

/**
 * The web processes at which equal open calls still wait, as far as Postgres knows. An open call is identified here by
 * its status, and found by the conditions of the index `calls_to_join`: by `finished_at` or `created_at` as they stand,
 * Postgres would go through the open calls of every account.
 */
export async function waitingProcesses(db: Db, { accountId, userId, keyId, requestHash }: Retry): Promise<string[]> {
  const { rows } = await db
    .raw<{ rows: { address: string }[] }>(
      `
    SELECT DISTINCT c.reply_to AS address FROM calls c
    WHERE ${OF_REQUEST} AND c.created_at + make_interval(secs => :window) > now()
      AND (c.finished_at IS NULL OR c.abandoned_at IS NOT NULL)
      AND c.status IN ('queued', 'running') AND c.abandoned_at IS NULL`,
      { accountId, userId, keyId, requestHash, window: RETRY_WINDOW_SECONDS },
    )
    .options({ name: 'waiting_processes' })
  return rows.map(({ address }) => address)
}
