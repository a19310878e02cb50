/**
 * Accounts. The credits in their rows are moved by the ledger and the calls alone.
 */
import type { Db, Trx } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { publicId } from '../ids.ts'
import { endSessions } from './sessions.ts'

export type AccountStatus = 'active' | 'suspended'

/** `admin`: an operator, who may use /api/operator. */
export type Role = 'user' | 'admin'

/** An account as its owner sees it. `credits` is the balance. */
export type User = {
  id: string
  email: string
  displayName: string
  avatarUrl: string
  credits: number
  emailVerified: boolean
  createdAt: string
}

/** A row of `users`. */
export type UserRow = {
  id: AccountId
  email: string
  password_hash: string
  display_name: string
  avatar_url: string
  status: AccountStatus
  role: Role
  email_verified_at: Date | null
  credits: number
  debt: number
  created_at: Date
}

const COLUMNS = [
  'id',
  'email',
  'password_hash',
  'display_name',
  'avatar_url',
  'status',
  'role',
  'email_verified_at',
  'credits',
  'debt',
  'created_at',
] as const

/** The fields of an account that may leave the process. */
export function presentUser(row: UserRow): User {
  return {
    id: publicId('account', row.id),
    email: row.email,
    displayName: row.display_name,
    avatarUrl: row.avatar_url,
    credits: row.credits,
    emailVerified: row.email_verified_at !== null,
    createdAt: row.created_at.toISOString(),
  }
}

/** A new account: an address that was checked, a hash that was made. */
export type NewUser = { id: AccountId; email: string; passwordHash: string; displayName?: string }

/** Makes an account; null when the address is taken, also by a registration of the same moment. */
export async function createUser(trx: Trx | Db, user: NewUser): Promise<UserRow | null> {
  const [row] = await trx('users')
    .insert({ id: user.id, email: user.email, password_hash: user.passwordHash, display_name: user.displayName ?? '' })
    .onConflict('email')
    .ignore()
    .returning<UserRow[]>([...COLUMNS])
  return row ?? null
}

/** The account of a lowercased address. */
export const findUserByEmail = async (db: Db | Trx, email: string): Promise<UserRow | null> =>
  (await db('users')
    .where({ email })
    .first<UserRow | undefined>(...COLUMNS)) ?? null

/** The account of an id. */
export const findUser = async (db: Db | Trx, id: AccountId): Promise<UserRow | null> =>
  (await db('users')
    .where({ id })
    .first<UserRow | undefined>(...COLUMNS)) ?? null

/**
 * The account of an id, its row locked until the transaction ends: what is read afterwards stays true. Null when there
 * is none.
 */
export const lockUser = async (trx: Trx, id: AccountId): Promise<UserRow | null> =>
  (await trx('users')
    .where({ id })
    .forNoKeyUpdate()
    .first<UserRow | undefined>(...COLUMNS)) ?? null

/** What an account may change of itself; a field that is absent stays. */
export type Profile = { displayName?: string; avatarUrl?: string }

/** Changes a profile. @throws where the account does not exist. */
export async function updateProfile(
  db: Db | Trx,
  id: AccountId,
  { displayName, avatarUrl }: Profile,
): Promise<UserRow> {
  const changes = {
    ...(displayName !== undefined && { display_name: displayName }),
    ...(avatarUrl !== undefined && { avatar_url: avatarUrl }),
  }
  // The id is set to itself, so that an empty change is a valid statement too.
  const [row] = await db('users')
    .where({ id })
    .update({ id, ...changes })
    .returning<UserRow[]>([...COLUMNS])
  if (!row) throw new Error('there is no such account')
  return row
}

/** Notes that the address was proved; the first proof counts. */
export async function markVerified(trx: Trx, id: AccountId): Promise<UserRow> {
  const [row] = await trx('users')
    .where({ id })
    .update({ email_verified_at: trx.raw('coalesce(email_verified_at, now())') })
    .returning<UserRow[]>([...COLUMNS])
  return row!
}

/** Stores a new password. Reset links that were asked for before this moment are dead. */
export async function setPasswordHash(trx: Trx, id: AccountId, passwordHash: string): Promise<void> {
  await trx('users')
    .where({ id })
    .update({ password_hash: passwordHash, password_changed_at: trx.raw('clock_timestamp()') })
}

/**
 * Suspends or activates an account; false when there is none. Suspending ends its sessions; its keys are refused from
 * their next request on.
 */
export async function setStatus(trx: Trx, id: AccountId, status: AccountStatus): Promise<boolean> {
  const found = (await trx('users').where({ id }).update({ status })) === 1
  if (status === 'suspended') await endSessions(trx, id)
  return found
}

/** Makes an account an operator, or takes the role away. Takes effect with the account's next request. */
export const setRole = async (trx: Trx, id: AccountId, role: Role): Promise<void> => {
  await trx('users').where({ id }).update({ role })
}
