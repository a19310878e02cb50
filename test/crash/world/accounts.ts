import type { Db } from '../../../src/shared/infra/db.ts'
import { newId } from '../../../src/shared/ids.ts'
import type { AccountId, GrantId, KeyId } from '../../../src/shared/ids.ts'

export type Account = { id: AccountId; keyId: KeyId; grants: GrantId[] }

/**
 * Makes an account with its lots, without an owner, in one statement, since thousands of worlds begin with it. The
 * first lot expires first.
 */
export async function openAccount(db: Db, lots: readonly number[]): Promise<Account> {
  const id = newId('account')
  const keyId = newId('key')
  const grants = lots.map(() => newId('grant'))
  const total = lots.reduce((sum, amount) => sum + amount, 0)
  await db.raw(
    `
    WITH u AS (
      INSERT INTO accounts (id, credits, ledger_seq) VALUES (:id, :total, :count)
    ), k AS (
      INSERT INTO api_keys (id, account_id, name, key_hash, hint)
      VALUES (:keyId, :id, 'k', sha256(:keyId::text::bytea), '')
    ), lot AS (
      SELECT * FROM unnest(:grants::uuid[], :lots::bigint[]) WITH ORDINALITY AS l (id, amount, nth)
    ), g AS (
      INSERT INTO grants (id, account_id, origin, amount, remaining, open, expires_at)
      SELECT id, :id, 'purchase', amount, amount, true, now() + nth * interval '1 day' FROM lot
    )
    INSERT INTO ledger_entries (account_id, seq, grant_id, kind, amount, balance_after)
    SELECT :id, nth, id, 'grant', amount, sum(amount) OVER (ORDER BY nth) FROM lot`,
    { id, total, count: lots.length, keyId, grants, lots: [...lots] },
  )
  return { id, keyId, grants }
}

/**
 * Empties the database of worlds, in one round trip, without the triggers of the ledger that prevent it.
 * @param cleanupDb a pool only for this: a connection loses its cached plans when its role changes
 */
export async function deleteAccounts(cleanupDb: Db): Promise<void> {
  await cleanupDb.raw(`
    BEGIN; SET LOCAL session_replication_role = replica;
    DELETE FROM call_results; DELETE FROM calls; DELETE FROM ledger_entries; DELETE FROM grants;
    DELETE FROM api_keys; DELETE FROM accounts;
    COMMIT`)
}
