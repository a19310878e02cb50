/**
 * Retries: which unanswered call of the same request a retry joins is decided by `sql/claim_call.sql`. One that an SDK
 * numbers is known to be one, and asks for its call itself; the others do so when they would open another.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, CallId, KeyId, UserId } from '../platform/ids.ts'

/**
 * A retry. `keyId`: the key that it came with; `userId`: the member whose it is; `requestHash` in hex; `replyTo`: the
 * web process that will answer it.
 */
export type Retry = { accountId: AccountId; userId: UserId; keyId: KeyId; requestHash: string; replyTo: string }

/** A web process that is gone. `lastSeenMs`: its last heartbeat, Unix time in ms; null if it sent none. */
export type DeadProcess = { address: string; lastSeenMs: number | null }

/**
 * Takes over the oldest call whose requester is known to have gone unanswered, else the oldest that was waited for by a
 * process which died (`sql/claim_call.sql`). Of several retries each gets another call.
 * @returns null if there is no such call.
 */
export async function claimCall(db: Db, retry: Retry, dead: readonly DeadProcess[]): Promise<CallId | null> {
  const { rows } = await db
    .raw<{ rows: { id: CallId | null }[] }>(
      `SELECT claim_call(:accountId, :keyId, decode(:requestHash, 'hex'), :replyTo, true, :dead) AS id`,
      { ...retry, dead: JSON.stringify(dead) },
    )
    .options({ name: 'claim_call' })
  return rows[0]!.id
}

/**
 * Withdraws an open call whose client disconnected, and that no retry has joined, from later retries, to end it.
 * @returns false if a retry has joined it, or it has ended
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
 * The web processes at which equal open calls still wait, as far as Postgres knows. Their condition is written as that
 * of the index `calls_waited_for`.
 */
export async function waitingProcesses(db: Db, { accountId, userId, requestHash }: Retry): Promise<string[]> {
  const { rows } = await db
    .raw<{ rows: { address: string }[] }>(
      `
    SELECT DISTINCT reply_to AS address FROM calls
    WHERE account_id = :accountId AND request_hash = decode(:requestHash, 'hex') AND user_id = :userId
      AND coalesce(finished_at, abandoned_at) IS NULL AND id > first_id(now() - interval '2 days')`,
      { accountId, userId, requestHash },
    )
    .options({ name: 'waiting_processes' })
  return rows.map(({ address }) => address)
}
