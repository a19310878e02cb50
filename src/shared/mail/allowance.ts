/**
 * How many mails a mailbox is sent: the one count of all mails, by kind, hour and mailbox, for all accounts. It
 * outlives these accounts.
 */
import type { MailId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { Mailbox } from './mailboxes.ts'
import type { MailKind } from './mails.ts'

/**
 * What is counted apart. The notice that an address has changed is not lost because many changes were asked for, nor is
 * that of one change of how a user signs in because of others; `test` mails are sent without the outbox.
 */
export type CountedKind = MailKind | 'address_changed' | `sign_in_changed:${string}` | 'test'

/** A mail that is to be sent now. `hourlyLimit`: mails of its kind that its mailbox gets in an hour. */
export type CountedMail = { mailId: MailId; mailbox: Mailbox; kind: CountedKind; hourlyLimit: number }

// An arbitrary number, the same in every process: the first of the two keys of an advisory lock on a mailbox.
const MAILBOX_LOCK = 7_604_114

/** Lets one transaction at a time decide about the mails of a mailbox. To be taken before the row of an account. */
export async function lockMailbox(trx: Trx, { known }: Mailbox): Promise<void> {
  // By the oldest hash: during a change of the secret, processes of both agree about it.
  await trx.raw('SELECT pg_advisory_xact_lock(?, ?)', [MAILBOX_LOCK, known.at(-1)!.readInt32BE()])
}

/**
 * Counts a mail that is to be sent, once however often it is tried. The mailbox must be locked.
 * @returns null if it may be sent; else it is not counted, and may be sent after this many seconds.
 */
export async function countMail(trx: Trx, { mailId, mailbox, kind, hourlyLimit }: CountedMail): Promise<number | null> {
  const { rows } = await trx.raw<{ rows: { waitSeconds: number }[] }>(
    `
    WITH latest AS (
      SELECT counted_at FROM mailbox_mails
      WHERE mailbox = ANY (:known) AND kind = :kind AND counted_at > now() - interval '1 hour'
      ORDER BY counted_at DESC LIMIT :hourlyLimit
    ), counted AS (
      INSERT INTO mailbox_mails (mail_id, mailbox, kind)
      SELECT :mailId, :hash, :kind WHERE (SELECT count(*) FROM latest) < :hourlyLimit
      ON CONFLICT (mail_id) DO NOTHING
    )
    SELECT greatest(1, ceil(extract(epoch FROM min(counted_at) + interval '1 hour' - now())))::int AS "waitSeconds"
    FROM latest HAVING count(*) >= :hourlyLimit
      AND NOT EXISTS (SELECT FROM mailbox_mails WHERE mail_id = :mailId)`,
    { mailId, kind, hourlyLimit, hash: mailbox.hash, known: mailbox.known as Buffer[] },
  )
  return rows[0]?.waitSeconds ?? null
}

/** Takes back the count of a mail that was not sent after all. */
export async function uncountMail(db: Db | Trx, mailId: MailId): Promise<void> {
  await db('mailbox_mails').where({ mail_id: mailId }).delete()
}

/** Deletes counts that no limit needs any more: a mail that is tried for hours keeps its own. */
export const deleteOldCounts = async (db: Db): Promise<number> =>
  db('mailbox_mails').where('counted_at', '<', db.raw(`now() - interval '1 day'`)).delete()
