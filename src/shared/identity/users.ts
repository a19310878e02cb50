/** Users: who signs in. What they spend is an account's (src/shared/identity). */
import type { AccountKind, AccountStatus } from './accounts.ts'
import { openAccount } from './accounts.ts'
import type { Membership } from './members.ts'
import { addMember } from './members.ts'
import { NO_PASSWORD } from './passwords.ts'
import { deleteTickets } from './tickets.ts'
import type { Language } from '../terms/languages.ts'
import { ApiError } from '../platform/errors.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'

/** `admin`: an operator, who may use /api/operator. */
export type Role = 'user' | 'admin'

/**
 * A user: `id` is that of their own account. `credits`: the balance of the account that they act for. (Of an
 * organisation that an operator views, `id` and `credits` are the organisation's, all else its owner's.)
 */
export type User = {
  id: string
  email: string
  displayName: string
  avatarUrl: string
  language: Language
  credits: number
  emailVerified: boolean
  createdAt: string
}

/** What a row of `users` holds. */
export type UserFields = {
  id: UserId
  email: string
  password_hash: string
  display_name: string
  avatar_url: string
  /** Of their mails. */
  language: Language
  role: Role
  email_verified_at: Date | null
  /** Whether a session of theirs needs a second factor. */
  has_second_factor: boolean
  /** Whether they have no login yet, and an address of nobody. */
  unclaimed: boolean
  created_at: Date
}

/**
 * A user, and of the account that they act for its id, kind, name, status, balance and debt in credits, and its group.
 */
export type UserRow = UserFields & {
  account_id: AccountId
  kind: AccountKind
  /** An organisation's; empty for a person's own account. */
  account_name: string
  status: AccountStatus
  credits: number
  debt: number
  group_name: string | null
}

const OWN = [
  'id',
  'email',
  'password_hash',
  'display_name',
  'avatar_url',
  'language',
  'role',
  'email_verified_at',
  'has_second_factor',
  'unclaimed',
  'created_at',
] as const

/** The columns of a `UserRow`, of `users`, `members` and `accounts`. */
export const USER_COLUMNS = [
  ...OWN.map((name) => `users.${name}` as const),
  'members.account_id',
  'accounts.kind',
  'accounts.name as account_name',
  'accounts.status',
  'accounts.credits',
  'accounts.debt',
  'accounts.group_name',
] as const

/** A user who acts for an account, and the id of their own, which does not depend on the account that they act for. */
export type ActingUserRow = UserRow & { own_account_id: AccountId }

/** What users see of themselves: the credits are those of the account that they act for. */
export const presentActingUser = (row: ActingUserRow): User => ({
  ...presentUser(row),
  id: publicId('account', row.own_account_id),
})

/** The fields of a user that may leave the process. */
export function presentUser(row: UserRow): User {
  return {
    id: publicId('account', row.account_id),
    email: row.email,
    displayName: row.display_name,
    avatarUrl: row.avatar_url,
    language: row.language,
    credits: row.credits,
    emailVerified: row.email_verified_at !== null,
    createdAt: row.created_at.toISOString(),
  }
}

/**
 * A new user and their own account: an address that was checked, a hash that was made. `email` null: a user without a
 * login, who has yet to claim their account (`claims.ts`); their hash is `NO_PASSWORD`.
 */
export type NewUser = {
  id: UserId
  accountId: AccountId
  email: string | null
  passwordHash: string
  displayName?: string
  /** English if absent. */
  language?: Language
}

/**
 * Makes a user, their account, and them its owner; null when the address is taken, also by a registration of the same
 * moment.
 */
export async function createUser(trx: Trx, user: NewUser): Promise<UserRow | null> {
  const [row] = await trx('users')
    .insert({
      id: user.id,
      email: user.email ?? nobodysAddress('unclaimed', user.id),
      unclaimed: user.email === null,
      password_hash: user.passwordHash,
      display_name: user.displayName ?? '',
      language: user.language ?? 'en',
    })
    .onConflict('email')
    .ignore()
    .returning<UserFields[]>([...OWN])
  if (!row) return null
  await openAccount(trx, user.accountId)
  await addMember(trx, { userId: user.id, accountId: user.accountId }, 'owner')
  return {
    ...row,
    account_id: user.accountId,
    kind: 'personal',
    account_name: '',
    status: 'active',
    credits: 0,
    debt: 0,
    group_name: null,
  }
}

const members = (db: Db | Trx) =>
  db('users')
    .join('members', 'members.user_id', 'users.id')
    .join('accounts', 'accounts.id', 'members.account_id')
    .select<UserRow[]>(...USER_COLUMNS)

/** The user of a lowercased address, with their own account. */
export const findUserByEmail = async (db: Db | Trx, email: string): Promise<UserRow | null> =>
  (await members(db)
    .where({ 'users.email': email, 'members.account_kind': 'personal' })
    .first<UserRow | undefined>()) ?? null

/** The user of an id, with their own account. */
export const findUser = async (db: Db | Trx, id: UserId): Promise<UserRow | null> =>
  (await members(db).where({ 'users.id': id, 'members.account_kind': 'personal' }).first<UserRow | undefined>()) ?? null

/** The owner of an account, with that account; null if there is none. */
export const findOwner = async (db: Db | Trx, accountId: AccountId): Promise<UserRow | null> =>
  (await members(db).where({ 'accounts.id': accountId, 'members.role': 'owner' }).first<UserRow | undefined>()) ?? null

/** A user who acts for a certain account; null if they may not. */
export const findMember = async (db: Db | Trx, { userId, accountId }: Membership): Promise<ActingUserRow | null> =>
  (await members(db)
    .join('members as own', 'own.user_id', 'users.id')
    .select('own.account_id as own_account_id')
    .where({ 'users.id': userId, 'accounts.id': accountId, 'own.account_kind': 'personal' })
    .first<ActingUserRow | undefined>()) ?? null

/**
 * A user who acts for a certain account.
 * @throws ApiError unauthorized if they may not any more: their membership may end while a request of theirs runs.
 */
export async function requireMember(db: Db | Trx, member: Membership): Promise<ActingUserRow> {
  const row = await findMember(db, member)
  if (!row) throw new ApiError('unauthorized')
  return row
}

/** Whether a user has a password. */
export const hasPassword = async (db: Db | Trx, id: UserId): Promise<boolean> =>
  (await db('users').where({ id }).whereNot({ password_hash: NO_PASSWORD }).first('id')) !== undefined

/** What a user may do at this moment. */
export async function roleOf(db: Db, id: UserId): Promise<Role> {
  const row = await db('users').where({ id }).first<{ role: Role } | undefined>('role')
  return row?.role ?? 'user'
}

/**
 * The user of an id, their row locked until the transaction ends: what is read afterwards stays true. Null when there
 * is none.
 */
export const lockUser = async (trx: Trx, id: UserId): Promise<UserFields | null> =>
  (await trx('users')
    .where({ id })
    .forNoKeyUpdate()
    .first<UserFields | undefined>(...OWN)) ?? null

/** What a user may change of themselves; a field that is absent stays. */
export type Profile = { displayName?: string; avatarUrl?: string; language?: Language }

/** Changes a profile. @throws as `requireMember`. */
export async function updateProfile(
  db: Db | Trx,
  member: Membership,
  { displayName, avatarUrl, language }: Profile,
): Promise<ActingUserRow> {
  const id = member.userId
  const changes = {
    ...(displayName !== undefined && { display_name: displayName }),
    ...(avatarUrl !== undefined && { avatar_url: avatarUrl }),
    ...(language !== undefined && { language }),
  }
  if (Object.keys(changes).length > 0) await db('users').where({ id }).update(changes)
  return await requireMember(db, member)
}

/** Notes that the address was proved; the first proof counts. */
export async function markVerified(trx: Trx, id: UserId): Promise<void> {
  await trx('users')
    .where({ id })
    .update({ email_verified_at: trx.raw('coalesce(email_verified_at, now())') })
}

/** Gives a user another address, which they have proved. @throws if somebody has it (`isAddressTaken`). */
export async function setEmail(trx: Trx, id: UserId, email: string): Promise<void> {
  await trx('users').where({ id }).update({ email, email_verified_at: trx.fn.now() })
}

/** Whether an address is that of somebody who was deleted, or has no login: no mail can reach it. */
export const isNobodys = (email: string): boolean => /@(?:deleted|unclaimed)\.invalid$/.test(email)

/** Which of these lowercased addresses users have. */
export const takenEmails = async (db: Db | Trx, emails: readonly string[]): Promise<Set<string>> =>
  new Set(
    await db('users')
      .whereRaw('email = ANY (?)', [[...emails]])
      .pluck<string[]>('email'),
  )

/** Whether a statement failed because two users would have had one address. */
export const isAddressTaken = (error: unknown): boolean =>
  (error as { constraint?: unknown } | null)?.constraint === 'users_email_key'

/**
 * Stores a new password. Reset links that were asked for before this moment are dead, and so are logins with the old
 * password that wait for a second factor. The user's row must be locked.
 */
export async function setPasswordHash(trx: Trx, id: UserId, passwordHash: string): Promise<void> {
  await deleteTickets(trx, id)
  await trx('users')
    .where({ id })
    .update({ password_hash: passwordHash, password_changed_at: trx.raw('clock_timestamp()') })
}

/** Whether there are users with an imported password, who have not logged in yet. */
export async function hasImportedHashes(db: Db): Promise<boolean> {
  const { rows } = await db.raw<{ rows: unknown[] }>(`SELECT 1 FROM users WHERE password_hash LIKE '$2%' LIMIT 1`)
  return rows.length > 0
}

/** Stores another hash of the same password; false if the password has changed meanwhile. */
export const replaceHash = async (
  db: Db,
  { id, password_hash: old }: Pick<UserFields, 'id' | 'password_hash'>,
  passwordHash: string,
): Promise<boolean> =>
  (await db('users').where({ id, password_hash: old }).update({ password_hash: passwordHash })) === 1

/** Notes whether sessions of a user need a second factor. The user's row must be locked. */
export const setSecondFactor = async (trx: Trx, id: UserId, has: boolean): Promise<void> => {
  await trx('users').where({ id }).update({ has_second_factor: has })
}

/** Makes a user an operator, or takes that away; it holds from their next request on. */
export const setRole = async (trx: Trx, id: UserId, role: Role): Promise<void> => {
  await trx('users').where({ id }).update({ role })
}

/** The address of somebody who was deleted, or has no login: unique, and nobody's (RFC 2606). */
const nobodysAddress = (why: 'deleted' | 'unclaimed', id: UserId): string => `${why}-${id}@${why}.invalid`

/**
 * Removes everything that identifies a user, or that could sign in as them.
 * @param passwordHash of a password that nobody knows
 */
export async function pseudonymise(trx: Trx, id: UserId, passwordHash: string): Promise<void> {
  await trx('users')
    .where({ id })
    .update({
      email: nobodysAddress('deleted', id),
      unclaimed: false,
      claim_hash: null,
      claim_until: null,
      password_hash: passwordHash,
      password_changed_at: trx.raw('clock_timestamp()'),
      display_name: '',
      avatar_url: '',
      role: 'user',
      email_verified_at: null,
    })
}
