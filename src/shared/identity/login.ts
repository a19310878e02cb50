/**
 * Login. Neither the answer nor its timing shows whether an account exists: the same queries are made for every
 * address, guesses are counted for every address, and one without an account costs the same hash. While there are users
 * with imported passwords, every login does the work of both kinds of hash.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, PendingId, UserId } from '../platform/ids.ts'
import { parseEmail } from '../terms/emails.ts'
import { withHashing } from './hashing-gate.ts'
import { hashPassword, isImportedHash, verifyPassword } from './passwords.ts'
import type { Device, OpenedSession } from './sessions.ts'
import { openSession } from './sessions.ts'
import { openTicket } from './tickets.ts'
import type { UserFields, UserRow } from './users.ts'
import { findMember, findUser, findUserByEmail, hasImportedHashes, lockUser, replaceHash } from './users.ts'
import { createHmac } from 'node:crypto'
import { networkOf } from '../platform/net/networks.ts'

/** A login that was refused for a known account names it, for the log alone. */
export type RefusedLogin = { refusal: 'invalid_credentials' | 'account_suspended'; accountId: AccountId | null }

/**
 * Any texts: one that is not an address belongs to no account. `network`: the one that `device` is in. `bind` gives the
 * secret of the browser, in which alone the second step can follow. `pending`: an identity that the login links.
 */
export type Credentials = {
  email: string
  password: string
  device: Device
  network: NetworkHash
  bind: () => string
  pending?: { id: PendingId; link: (trx: Trx, user: UserFields) => Promise<void> } | null
}

/** A login that waits for the second factor of its user: see `tickets.ts`. */
export type Half = { ticket: string; user: UserRow }

/**
 * Counts guesses at the password of an address, whether it has an account or not: after some failures there is a pause
 * that grows. `address` is the text that was sent as one.
 */
export type Guesses = {
  /** @throws ApiError rate_limited, with `Retry-After`, during a pause. */
  refusePaused: (address: string) => Promise<void>
  /** Counts a guess as a failure, before it is known to be one. @throws ApiError rate_limited during a pause. */
  count: (address: string, client: string) => Promise<void>
  /** Forgets the failures: the password was right. */
  forget: (address: string) => Promise<void>
}

/**
 * Opens a session for the right password of an active account, or a ticket if the user has a second factor. A suspended
 * account gets that answer for any password (docs/accounts-and-mail.md#passwords-and-logins). From a network that has
 * logged in to the account before, guesses are not counted here.
 * @throws ApiError overloaded; rate_limited, decided without the password.
 */
export async function logIn(
  db: Db,
  guesses: Guesses,
  { email, password, device, network, bind, pending = null }: Credentials,
): Promise<(OpenedSession & { user: UserRow }) | Half | RefusedLogin> {
  const address = parseEmail(email)
  const guessed = address ?? email
  const known = await isLoginNetwork(db, address ?? '', network)
  if (!known) await guesses.refusePaused(guessed)
  const { user, right } = await withHashing({ address: device.ip, known }, async () => {
    if (!known) await guesses.count(guessed, device.ip)
    const found = address === null ? null : await findUserByEmail(db, address)
    const right = await verifyPassword(found?.password_hash ?? null, password, await hasImportedHashes(db))
    return { user: found && right ? await withOwnHash(db, found, password) : found, right }
  })
  if (user?.status === 'suspended') return { refusal: 'account_suspended', accountId: user.account_id }
  if (!user || !right) return { refusal: 'invalid_credentials', accountId: user?.account_id ?? null }
  const member = { userId: user.id, accountId: user.account_id }
  if (user.has_second_factor) {
    const { id: userId, password_hash: passwordHash } = user
    const ticket = await openTicket(db, { userId, passwordHash, browser: bind(), pendingId: pending?.id ?? null })
    return ticket === null ? { refusal: 'invalid_credentials', accountId: user.account_id } : { ticket, user }
  }
  const opening = { ...device, ...member, passwordHash: user.password_hash }
  const session = pending
    ? await db.transaction(async (trx) => {
        const locked = await lockUser(trx, user.id)
        const opened = await openSession(trx, opening)
        if (opened) await pending.link(trx, locked!)
        return opened
      })
    : await openSession(db, opening)
  if (session) {
    await rememberNetwork(db, user.id, network)
    if (!known) await guesses.forget(guessed)
    return { ...session, user }
  }
  // The account changed since it was looked up: suspended, another password, or a second factor.
  const now = await findMember(db, member)
  return {
    refusal: now?.status === 'suspended' ? 'account_suspended' : 'invalid_credentials',
    accountId: user.account_id,
  }
}

/** Replaces an imported hash by ours, now that its password is known. @returns the user as they are then */
async function withOwnHash(db: Db, user: UserRow, password: string): Promise<UserRow> {
  if (!isImportedHash(user.password_hash)) return user
  const hash = await hashPassword(password)
  if (await replaceHash(db, user, hash)) return { ...user, password_hash: hash }
  // A login of the same moment has replaced it, or the password was changed.
  const now = await findUser(db, user.id)
  return now && (await verifyPassword(now.password_hash, password)) ? now : user
}

/** Networks of one user that are remembered, the latest. */
const MOST = 50

/** How long one is remembered after the last login from it, in days. */
const LIFE_DAYS = 180

/** A client's network, hashed under APP_SECRET: another secret forgets them all. */
export type NetworkHash = Buffer & { readonly __networkHash: true }

/** The hash of the network that a client's address is in. */
export const networkHash = (appSecret: string, address: string): NetworkHash =>
  createHmac('sha256', appSecret)
    .update(`tollgate login network\n${networkOf(address)}`)
    .digest() as NetworkHash

/**
 * Whether the user of a lowercased e-mail address has logged in from a network: one query, whether the user exists or
 * not.
 */
export async function isLoginNetwork(db: Db, email: string, network: NetworkHash): Promise<boolean> {
  const { rows } = await db.raw<{ rows: unknown[] }>(
    `SELECT 1 FROM users u JOIN login_networks n ON n.user_id = u.id WHERE u.email = ? AND n.network_hash = ?`,
    [email, network],
  )
  return rows.length > 0
}

/** Remembers that a user has logged in from a network; beyond the most, that of the oldest login is forgotten. */
export async function rememberNetwork(db: Db | Trx, userId: UserId, network: NetworkHash): Promise<void> {
  await db.raw(
    `
    WITH remembered AS (
      INSERT INTO login_networks (user_id, network_hash) VALUES (:userId, :network)
      ON CONFLICT (user_id, network_hash) DO UPDATE SET last_login_at = now()
    )
    DELETE FROM login_networks
    WHERE user_id = :userId AND network_hash IN (
      SELECT network_hash FROM login_networks WHERE user_id = :userId AND network_hash <> :network
      ORDER BY last_login_at DESC OFFSET :others
    )`,
    { userId, network, others: MOST - 1 },
  )
}

/** Forgets all networks of a user. */
export const forgetNetworks = async (trx: Trx, userId: UserId): Promise<void> => {
  await trx('login_networks').where({ user_id: userId }).delete()
}

/** Forgets networks that nobody has logged in from for long. */
export const deleteOldNetworks = async (db: Db): Promise<number> =>
  db('login_networks')
    .where('last_login_at', '<', db.raw('now() - make_interval(days => ?)', [LIFE_DAYS]))
    .delete()
