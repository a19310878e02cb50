/**
 * One-time tokens: the links of mails. The raw token is never stored: it is derived from the mail's id whenever the
 * mail is tried, so that all tries of a mail carry the same link, and no stored value is a usable token.
 */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { MailId, UserId } from '../platform/ids.ts'

/** What the link of a mail does: the kind of the mail. */
export type LinkKind = 'verification' | 'reset' | 'address' | 'access'

/** How long a link lives after the last try of its mail, in seconds. */
const LIFE_SECONDS: Record<LinkKind, number> = {
  verification: 24 * 3600,
  reset: 30 * 60,
  address: 24 * 3600,
  access: 24 * 3600,
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** What a token is for: what the link of a mail does, or one whose token is stored with what it is for. */
type Purpose = LinkKind | 'invitation' | 'sign_in'

/** The token of a mail: 32 bytes, base64url. */
export type TokenMint = (purpose: Purpose, mailId: MailId) => string

/** Derives tokens under the server's secret: a key a purpose, so that a token of one is none of another. */
export function createTokenMint(appSecret: string): TokenMint {
  const keyOf = (purpose: Purpose) =>
    Buffer.from(hkdfSync('sha256', appSecret, '', `tollgate mail token ${purpose}`, 32))
  const keys: Record<Purpose, Buffer> = {
    verification: keyOf('verification'),
    reset: keyOf('reset'),
    address: keyOf('address'),
    access: keyOf('access'),
    invitation: keyOf('invitation'),
    sign_in: keyOf('sign_in'),
  }
  return (purpose, mailId) => createHmac('sha256', keys[purpose]).update(mailId).digest('base64url')
}

/** Links that a change of the password leaves alone: it may be that of somebody who must not keep anybody out. */
const LASTING = `('verification', 'access')`

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The link of a mail, and whose it is. */
export type NewToken = { mailId: MailId; userId: UserId; purpose: LinkKind; token: string }

/**
 * Activates the link of a mail, or extends its life for another try of the same mail. The account's row must be
 * locked.
 * @returns false if the link is spent, or the password was changed after the mail was asked for: then no mail is
 *   due.
 */
export async function issueToken(trx: Trx, { mailId, userId, purpose, token }: NewToken): Promise<boolean> {
  const { rowCount } = await trx.raw<{ rowCount: number }>(
    `
    INSERT INTO one_time_tokens AS t (mail_id, user_id, purpose, token_hash, email, asked_at, expires_at)
    SELECT m.id, u.id, m.kind, :hash, m.recipient, m.created_at, now() + make_interval(secs => :life)
    FROM mails m JOIN users u ON u.id = :userId
    WHERE m.id = :mailId AND (m.kind IN ${LASTING} OR m.created_at > u.password_changed_at)
    ON CONFLICT (mail_id) DO UPDATE
    SET expires_at = excluded.expires_at, token_hash = excluded.token_hash WHERE t.spent_at IS NULL`,
    { mailId, userId, hash: hashOf(token), life: LIFE_SECONDS[purpose] },
  )
  return rowCount === 1
}

/** Whether a mail was tried with this token before: its next try carries the same one. */
export const isIssued = async (trx: Trx, mailId: MailId, token: string): Promise<boolean> =>
  (await trx('one_time_tokens')
    .where({ mail_id: mailId, token_hash: hashOf(token) })
    .first('mail_id')) !== undefined

/**
 * What makes a token good: its purpose, unspent, in its time, for the address that the user still has, or, of another
 * address, for one that nobody has; and of resets and new addresses only the newest, asked for after the last change
 * of the password.
 */
const LIVE = `t.token_hash = :hash AND t.purpose = :purpose AND t.spent_at IS NULL AND t.expires_at > now()
  AND u.id = t.user_id
  AND CASE t.purpose WHEN 'address' THEN NOT EXISTS (SELECT FROM users holder WHERE holder.email = t.email)
    ELSE u.email = t.email END
  AND (t.purpose IN ${LASTING} OR (t.asked_at > u.password_changed_at AND NOT EXISTS (
    SELECT FROM one_time_tokens newer
    WHERE newer.user_id = t.user_id AND newer.purpose = t.purpose AND newer.asked_at > t.asked_at)))`

/** Whose live token this is, and the address that it was mailed to; null for any other text. Spends nothing. */
export async function readToken(
  db: Db | Trx,
  purpose: LinkKind,
  token: string,
): Promise<{ userId: UserId; email: string } | null> {
  if (!TOKEN.test(token)) return null
  const { rows } = await db.raw<{ rows: { userId: UserId; email: string }[] }>(
    `SELECT t.user_id AS "userId", t.email FROM one_time_tokens t, users u WHERE ${LIVE}`,
    { purpose, hash: hashOf(token) },
  )
  return rows[0] ?? null
}

/** Whose live token this is; null for any other text. Spends nothing. */
export const findToken = async (db: Db | Trx, purpose: LinkKind, token: string): Promise<UserId | null> =>
  (await readToken(db, purpose, token))?.userId ?? null

/**
 * Spends a token by one statement: of any number of simultaneous requests one wins. The account's row must be locked,
 * so that a change of its password or address is seen.
 * @returns the address that the link was mailed to; null if the token is not good.
 */
export async function spendToken(trx: Trx, purpose: LinkKind, token: string): Promise<{ email: string } | null> {
  const { rows } = await trx.raw<{ rows: { email: string }[] }>(
    `UPDATE one_time_tokens t SET spent_at = now() FROM users u WHERE ${LIVE} RETURNING t.email`,
    { purpose, hash: hashOf(token) },
  )
  return rows[0] ?? null
}

/** How long a link that has proved an address may still end what can use the account, in minutes. */
const PROOF_MINUTES = 60

/**
 * Whose account a token may close to everybody else: that of a mail about who can use it, or one that has proved the
 * address of the account within the last hour. Null for any other text. Spends nothing.
 */
export async function findAccessToken(db: Db | Trx, token: string): Promise<UserId | null> {
  if (!TOKEN.test(token)) return null
  const { rows } = await db.raw<{ rows: { userId: UserId }[] }>(
    `
    SELECT t.user_id AS "userId" FROM one_time_tokens t JOIN users u ON u.id = t.user_id AND u.email = t.email
    WHERE t.token_hash = :hash AND t.expires_at > now() AND CASE t.purpose
      WHEN 'access' THEN t.spent_at IS NULL
      WHEN 'reset' THEN false
      ELSE t.spent_at > now() - make_interval(mins => :minutes) END`,
    { hash: hashOf(token), minutes: PROOF_MINUTES },
  )
  return rows[0]?.userId ?? null
}

/** Ends every link of a user that `findAccessToken` knows. The user's row must be locked. */
export async function spendAccessTokens(trx: Trx, userId: UserId): Promise<void> {
  await trx('one_time_tokens')
    .where({ user_id: userId })
    .whereRaw(`(purpose = 'access' OR purpose <> 'reset' AND spent_at IS NOT NULL) AND expires_at > now()`)
    .update({ spent_at: trx.raw('coalesce(spent_at, now())'), expires_at: trx.fn.now() })
}
