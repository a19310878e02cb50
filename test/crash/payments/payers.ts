import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, KeyId } from '../../../src/shared/platform/ids.ts'

/** An account that buys. Its owner's address gets the receipts, its webhook what becomes of its payments. */
export type Payer = { id: AccountId; keyId: KeyId; email: string }

let payers = 0

/**
 * Makes accounts, each with an owner whose address is verified and a key, in one statement, since thousands of
 * schedules begin with it.
 */
export async function openPayers(db: Db, count: number): Promise<Payer[]> {
  const made = Array.from({ length: count }, () => ({
    id: newId('account'),
    userId: newId('user'),
    keyId: newId('key'),
    email: `payer-${++payers}@example.com`,
  }))
  await db.raw(
    `
    WITH one AS (
      SELECT * FROM jsonb_to_recordset(?::jsonb) AS one (id uuid, "userId" uuid, "keyId" uuid, email text)
    ), u AS (
      INSERT INTO users (id, email, password_hash, email_verified_at) SELECT "userId", email, 'none', now() FROM one
    ), a AS (
      INSERT INTO accounts (id, has_webhooks) SELECT id, true FROM one
    ), w AS (
      INSERT INTO webhooks (id, account_id, url, types, secret) SELECT "keyId", id, 'https://receiver.example/',
        '{payment.succeeded, payment.refunded, payment.disputed}', '' FROM one
    ), m AS (
      INSERT INTO members (user_id, account_id, role) SELECT "userId", id, 'owner' FROM one
    )
    INSERT INTO api_keys (id, account_id, user_id, name, key_hash, hint)
    SELECT "keyId", id, "userId", 'k', sha256("keyId"::text::bytea), '' FROM one`,
    [JSON.stringify(made)],
  )
  return made
}
