import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { AccountId, KeyId } from '../../../src/shared/platform/ids.ts'
import { NO_LIMITS, openAccount } from '../simulation/accounts.ts'

/** An account that buys. Its owner's address gets the receipts, its webhook what becomes of its payments. */
export type Payer = { id: AccountId; keyId: KeyId; email: string }

/** Makes one, whose owner's address is verified. */
export async function openPayer(db: Db): Promise<Payer> {
  const { id, userId, keyIds } = await openAccount(db, [], NO_LIMITS)
  const keyId = keyIds[0]!
  const { rows } = await db.raw<{ rows: { email: string }[] }>(
    `
    WITH a AS (
      UPDATE accounts SET has_webhooks = true WHERE id = :id
    ), w AS (
      INSERT INTO webhooks (id, account_id, url, types, secret) VALUES (:keyId, :id, 'https://receiver.example/',
        '{payment.succeeded, payment.refunded, payment.disputed}', '')
    )
    UPDATE users SET email_verified_at = now() WHERE id = :userId RETURNING email`,
    { id, userId, keyId },
  )
  return { id, keyId, email: rows[0]!.email }
}
