/**
 * Mailboxes, as limits and gifts know them: by a keyed hash, which outlives the accounts of a mailbox and identifies
 * nobody without the server's secret (docs/accounts-and-mail.md#mailboxes).
 */
import { createHmac, hkdfSync } from 'node:crypto'
import type { Config } from '../platform/config/config.ts'
import type { CodeId, GrantId } from '../platform/ids.ts'
import type { Trx } from '../platform/postgres/db.ts'
import { mailboxOf } from '../terms/emails.ts'

/** A mailbox: `hash` is written, `known` are all hashes that it may have been written under. 32 bytes each. */
export type Mailbox = { hash: Buffer; known: readonly Buffer[] }

/** Hashes the mailbox that an address leads to. */
export type Mailboxes = (email: string) => Mailbox

/** Hashes mailboxes under the server's secret. What was written under the secret before is still known. */
export function createMailboxes(config: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>): Mailboxes {
  const keyOf = (secret: string) => Buffer.from(hkdfSync('sha256', secret, '', 'tollgate mailbox', 32))
  const current = keyOf(config.APP_SECRET)
  const keys = config.APP_SECRET_PREVIOUS === undefined ? [current] : [current, keyOf(config.APP_SECRET_PREVIOUS)]
  return (email) => {
    const known = keys.map((key) => createHmac('sha256', key).update(mailboxOf(email)).digest())
    return { hash: known[0]!, known }
  }
}

/**
 * Notes that a mailbox is given something that it gets once, by a constraint: the sign-up credits, or those of a code.
 * The grant is to be made in the same transaction.
 * @param code null for the sign-up credits.
 * @returns false if the mailbox was given it before, for any account: then no grant is due.
 */
export async function claimGift(
  trx: Trx,
  { hash, known }: Mailbox,
  grantId: GrantId,
  code: CodeId | null,
): Promise<boolean> {
  const { rowCount } = await trx.raw<{ rowCount: number }>(
    `
    INSERT INTO mailbox_gifts (grant_id, mailbox, code_id)
    SELECT :grantId, :hash, :code WHERE NOT EXISTS (SELECT FROM mailbox_gifts given
      WHERE given.mailbox = ANY (:known) AND given.code_id IS NOT DISTINCT FROM cast(:code AS uuid))
    ON CONFLICT DO NOTHING`,
    { grantId, hash, known: known as Buffer[], code },
  )
  return rowCount === 1
}
