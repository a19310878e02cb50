/**
 * Tickets: logins whose password was right, and which wait for the second factor. A ticket is 32 random bytes,
 * base64url, and works once, within 5 minutes by the clock of Postgres, in the browser that got it. Five wrong codes
 * end it, and so does another password. Only SHA-256s are stored.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { PendingId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'

const LIFE_MINUTES = 5
const MOST_FAILURES = 5

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * `passwordHash`: what the login was checked against. `browser`: the secret of the browser's cookie. `pendingId`: the
 * pending identity that is linked when the login is complete; null: none.
 */
export type NewTicket = { userId: UserId; passwordHash: string; browser: string; pendingId?: PendingId | null }

/** Opens a ticket, unless the password changed since it was checked: then null. FOR SHARE as in `openSession`. */
export async function openTicket(
  db: Db | Trx,
  { userId, passwordHash, browser, pendingId = null }: NewTicket,
): Promise<string | null> {
  const ticket = randomBytes(32).toString('base64url')
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    INSERT INTO sign_in_tickets (token_hash, user_id, browser_hash, pending_id, expires_at)
    SELECT ?, u.id, ?, ?, now() + make_interval(mins => ?) FROM users u WHERE u.id = ? AND u.password_hash = ?
    FOR SHARE`,
    [hashOf(ticket), hashOf(browser), pendingId, LIFE_MINUTES, userId, passwordHash],
  )
  return rowCount === 1 ? ticket : null
}

/** A ticket, and the secret of the browser that sends it: any texts. */
export type SentTicket = { ticket: string; browser: string }

const live = (db: Db | Trx, { ticket, browser }: SentTicket) =>
  db('sign_in_tickets')
    .where({ token_hash: hashOf(ticket), browser_hash: hashOf(browser) })
    .where('expires_at', '>', db.fn.now())

/** Whose ticket it is; null if it is not good, or not in this browser. Spends nothing. */
export const findTicket = async (db: Db | Trx, sent: SentTicket): Promise<UserId | null> =>
  (await live(db, sent).first<{ user_id: UserId } | undefined>('user_id'))?.user_id ?? null

/** Spends a ticket; the user's row must be locked. @returns the pending identity that it links; null for none */
export async function spendTicket(trx: Trx, sent: SentTicket): Promise<PendingId | null> {
  const [spent] = await live(trx, sent).delete().returning<{ pending_id: PendingId | null }[]>('pending_id')
  return spent?.pending_id ?? null
}

/** Counts a wrong code; the fifth ends the ticket. The user's row must be locked. */
export async function failTicket(trx: Trx, sent: SentTicket): Promise<void> {
  const isLast = await live(trx, sent)
    .where('failures', '>=', MOST_FAILURES - 1)
    .delete()
  if (!isLast) await live(trx, sent).increment('failures', 1)
}

/** Ends the tickets of a user. The user's row must be locked. */
export const deleteTickets = async (trx: Trx, userId: UserId): Promise<void> => {
  await trx('sign_in_tickets').where({ user_id: userId }).delete()
}

/** Deletes expired tickets. An expired one is refused anyway. */
export const deleteExpiredTickets = async (db: Db): Promise<number> =>
  db('sign_in_tickets').where('expires_at', '<', db.fn.now()).delete()
