/**
 * Sessions: one row a login. The token is 32 random bytes, base64url, known only to its client; only its SHA-256 is
 * stored. A session lives 7 days by the clock of Postgres, and ends by deletion.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { MemberRole, Membership } from './members.ts'
import type { AccountId, SessionId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'

/** The client of a session, for its owner to recognise it by: texts that the client sent, made fit to be stored. */
export type Device = { userAgent: string; ip: string }

/** `passwordHash`: what the login was checked against. `hasPassedSecondFactor`: whether a second factor was, too. */
export type NewSession = Device & Membership & { passwordHash: string; hasPassedSecondFactor?: boolean }

/** A new session. Its token is shown only this once. */
export type OpenedSession = { sessionId: SessionId; token: string }

/** Who must have a second factor (SECOND_FACTOR). */
export type SecondFactorPolicy = 'optional' | 'operators' | 'all'

/** Whose session it is, the account that it acts for, what they may do for it, and its group (null: none). */
export type LiveSession = Membership & {
  sessionId: SessionId
  role: MemberRole
  group: string | null
  /** They must have a second factor, have none, and were asked for none at a provider. */
  mustAddFactor: boolean
  /** They logged in or gave their password within the last 5 minutes. */
  isFresh: boolean
  /** They logged in, or gave their password or a code, within the last 15 minutes. */
  isProven: boolean
}

/** A session as its owner sees it. Times are ISO 8601 in UTC. */
export type Session = {
  id: string
  createdAt: string
  lastSeenAt: string
  userAgent: string
  ip: string
  current: boolean
}

const LIFE_DAYS = 7

/** The most sessions that are listed, newest first. */
const LISTED = 1000

const TOKEN_BYTES = 32
const TOKEN = /^[A-Za-z0-9_-]{43}$/

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Opens a session, unless the account was suspended, its password changed since it was checked, or the user has a
 * second factor that was not passed: a login with the old password that runs while a reset commits must not open a
 * session, nor one without a factor while it is added. FOR SHARE waits for a running change and reads again.
 * @returns null if so.
 */
export async function openSession(
  db: Db | Trx,
  { userId, accountId, passwordHash, hasPassedSecondFactor = false, userAgent, ip }: NewSession,
): Promise<OpenedSession | null> {
  const sessionId = newId('session')
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    INSERT INTO sessions (id, user_id, account_id, token_hash, user_agent, ip, expires_at)
    SELECT ?, u.id, acc.id, ?, ?, ?, now() + make_interval(days => ?)
    FROM users u, accounts acc
    WHERE u.id = ? AND u.password_hash = ? AND (? OR NOT u.has_second_factor) AND acc.id = ?
      AND acc.status = 'active' FOR SHARE`,
    [sessionId, hashOf(token), userAgent, ip, LIFE_DAYS, userId, passwordHash, hasPassedSecondFactor, accountId],
  )
  return rowCount === 1 ? { sessionId, token } : null
}

/**
 * Whether the user of a session lacks a second factor, also one at the provider by which it was opened. Nobody is
 * looked up where nobody must have one.
 */
const MUST_ADD_FACTOR: Record<SecondFactorPolicy, string> = {
  optional: 'false',
  operators: `NOT s.factor_at_provider
    AND (SELECT u.role = 'admin' AND NOT u.has_second_factor FROM users u WHERE u.id = s.user_id)`,
  all: 'NOT s.factor_at_provider AND (SELECT NOT u.has_second_factor FROM users u WHERE u.id = s.user_id)',
}

/**
 * The live session of a token; null for one that is malformed (without a query), unknown, ended or expired, and while
 * its account is suspended. Notes the visit, at most once a minute.
 */
export async function findSession(
  db: Db,
  token: string,
  policy: SecondFactorPolicy = 'optional',
): Promise<LiveSession | null> {
  if (!TOKEN.test(token)) return null
  const { rows } = await db
    .raw<{ rows: (LiveSession & { unnoted: boolean })[] }>(
      `
    SELECT s.id AS "sessionId", s.user_id AS "userId", s.account_id AS "accountId", m.role, acc.group_name AS "group",
      s.last_seen_at < now() - interval '1 minute' AS unnoted,
      coalesce(s.proved_at, s.created_at) > now() - interval '5 minutes' AS "isFresh",
      greatest(s.created_at, s.proved_at, s.code_at) > now() - interval '15 minutes' AS "isProven",
      ${MUST_ADD_FACTOR[policy]} AS "mustAddFactor"
    FROM sessions s JOIN accounts acc ON acc.id = s.account_id
      JOIN members m ON m.user_id = s.user_id AND m.account_id = s.account_id
    WHERE s.token_hash = :hash AND s.expires_at > now() AND acc.status = 'active'`,
      { hash: hashOf(token) },
    )
    .options({ name: `find_session_${policy}` })
  if (!rows[0]) return null
  const { unnoted, ...session } = rows[0]
  if (unnoted) await db('sessions').where({ id: session.sessionId }).update({ last_seen_at: db.fn.now() })
  return session
}

/**
 * Makes a session act for another account from now on. FOR SHARE waits for a change of the account's status, or of the
 * membership, and reads again. Rows are locked in the order of FROM: the account first, as in every change of a
 * membership.
 * @returns null if the user may not act for it, or the session has ended.
 */
export async function actFor(
  db: Db,
  { userId, sessionId }: LiveSession,
  accountId: AccountId,
): Promise<'switched' | 'suspended' | null> {
  return db.transaction(async (trx) => {
    const { rows } = await trx.raw<{ rows: { isActive: boolean }[] }>(
      `
      SELECT acc.status = 'active' AS "isActive" FROM accounts acc JOIN members m ON m.account_id = acc.id
      WHERE m.user_id = ? AND m.account_id = ? AND acc.deleted_at IS NULL FOR SHARE`,
      [userId, accountId],
    )
    const [account] = rows
    if (!account?.isActive) return account ? 'suspended' : null
    const changed = await trx('sessions').where({ id: sessionId, user_id: userId }).update({ account_id: accountId })
    return changed === 1 ? 'switched' : null
  })
}

/** Whose session it is, and for which account; null if there is none. */
export const holderOfSession = async (db: Db, id: SessionId): Promise<Membership | null> =>
  (await db('sessions').where({ id }).first<Membership>({ userId: 'user_id', accountId: 'account_id' })) ?? null

/** Notes that the user of a session has proved themselves again, by the password or by a code. */
export const noteProof = async (db: Db | Trx, id: SessionId, by: 'password' | 'code'): Promise<void> => {
  await db('sessions')
    .where({ id })
    .update({ [by === 'password' ? 'proved_at' : 'code_at']: db.fn.now() })
}

/** Notes that a session was opened after a second factor at a provider. */
export const noteFactorAtProvider = async (trx: Trx, id: SessionId): Promise<void> => {
  await trx('sessions').where({ id }).update({ factor_at_provider: true })
}

/** Ends one session of a user; false when the user has no such session. */
export const endSession = async (db: Db | Trx, userId: UserId, sessionId: SessionId): Promise<boolean> =>
  (await db('sessions').where({ id: sessionId, user_id: userId }).delete()) === 1

/**
 * Ends all sessions of a user except one. Where a password changes, it is a statement of its own after the user's row
 * was locked: it must see every login before that.
 */
export async function endSessions(trx: Db | Trx, userId: UserId, except: SessionId | null = null): Promise<void> {
  await trx('sessions')
    .where({ user_id: userId })
    .modify((query) => {
      if (except) void query.whereNot({ id: except })
    })
    .delete()
}

/**
 * Ends all sessions that act for an account, and all of the person whose own account it is, no matter which account
 * they act for. A statement of its own after the account's row was locked, as `endSessions`.
 */
export async function endSessionsOfAccount(trx: Trx, accountId: AccountId): Promise<void> {
  const person = trx('members').where({ account_id: accountId, account_kind: 'personal' }).select('user_id')
  await trx('sessions').where({ account_id: accountId }).orWhereIn('user_id', person).delete()
}

/** The live sessions of a user, newest first. */
export async function listSessions(db: Db, userId: UserId, current: SessionId | null): Promise<Session[]> {
  const rows = await db('sessions')
    .where({ user_id: userId })
    .where('expires_at', '>', db.fn.now())
    .orderBy('id', 'desc')
    .limit(LISTED)
    .select<{ id: SessionId; created_at: Date; last_seen_at: Date; user_agent: string; ip: string }[]>(
      'id',
      'created_at',
      'last_seen_at',
      'user_agent',
      'ip',
    )
  return rows.map((row) => ({
    id: publicId('session', row.id),
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.last_seen_at.toISOString(),
    userAgent: row.user_agent,
    ip: row.ip,
    current: row.id === current,
  }))
}

/** How many live sessions a user has, but for the one with the token `except`. */
export async function countSessions(db: Db | Trx, userId: UserId, except = ''): Promise<number> {
  const row = await db('sessions')
    .where({ user_id: userId })
    .whereNot({ token_hash: hashOf(except) })
    .where('expires_at', '>', db.fn.now())
    .count({ live: '*' })
    .first<{ live: number }>()
  return Number(row.live)
}

/** Whether a session still is. A statement of its own after the account's row was locked, as `endSessions`. */
export const isLive = async (trx: Trx, id: SessionId): Promise<boolean> =>
  (await trx('sessions').where({ id }).first('id')) !== undefined

/**
 * Locks the user of a session that still is: a user who is just being deleted becomes no member or owner.
 * @throws ApiError unauthorized if it has ended.
 */
export async function lockUserOf(
  trx: Trx,
  { userId, sessionId }: Pick<LiveSession, 'userId' | 'sessionId'>,
): Promise<{ email: string }> {
  const user = await trx('users').where({ id: userId }).forNoKeyUpdate().first<{ email: string } | undefined>('email')
  if (!user || !(await isLive(trx, sessionId))) throw new ApiError('unauthorized')
  return user
}

/** Deletes expired sessions. An expired session is refused anyway. */
export const deleteExpiredSessions = async (db: Db): Promise<number> =>
  db('sessions').where('expires_at', '<', db.fn.now()).delete()
