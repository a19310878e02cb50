/**
 * Members: who may act for which account. Everybody who registers is the owner of an account of their own; an
 * organisation is an account that others may be members of. An account has one owner.
 */
import { ApiError } from '../platform/errors.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, UserId } from '../platform/ids.ts'

/**
 * `owner`: may do everything. `admin`: all but what ends the account or hands it over. `member`: has keys, and sees
 * their own keys, calls and usage. Which endpoint is whose: src/api/endpoint/auth.ts.
 */
export const MEMBER_ROLES = ['owner', 'admin', 'member'] as const
/** What somebody may do for an account. */
export type MemberRole = (typeof MEMBER_ROLES)[number]
/** The roles that can be given; an account is handed over by its owner. */
export const GIVEN_ROLES = ['admin', 'member'] as const
/** A role that can be given. */
export type GivenRole = (typeof GIVEN_ROLES)[number]

/** A user, and the account that they act for. */
export type Membership = { userId: UserId; accountId: AccountId }

/** Which keys, calls and usage are seen: those of a whole account, or of one member of it alone. */
export type Seen = { accountId: AccountId; memberId: UserId | null }

/** What somebody sees who acts for an account: a member their own, owner and admins all. */
export const seenBy = ({ userId, accountId, role }: Membership & { role: MemberRole }): Seen => ({
  accountId,
  memberId: role === 'member' ? userId : null,
})

/** All of an account. */
export const allOf = (accountId: AccountId): Seen => ({ accountId, memberId: null })

/** The columns of rows of keys and calls that are seen. */
export const ownedBy = ({ accountId, memberId }: Seen): { account_id: AccountId; user_id?: UserId } => ({
  account_id: accountId,
  ...(memberId && { user_id: memberId }),
})

/** Lets a user act for an account. @throws if the account has an owner already (by a constraint). */
export async function addMember(trx: Trx, { userId, accountId }: Membership, role: MemberRole): Promise<void> {
  await trx.raw(
    `INSERT INTO members (user_id, account_id, account_kind, role)
     SELECT :userId, acc.id, acc.kind, :role FROM accounts acc WHERE acc.id = :accountId`,
    { userId, accountId, role },
  )
}

/** The owner of an account; null if there is no such account. */
export async function ownerOf(db: Db | Trx, accountId: AccountId): Promise<UserId | null> {
  const row = await db('members')
    .where({ account_id: accountId, role: 'owner' })
    .first<{ user_id: UserId } | undefined>('user_id')
  return row?.user_id ?? null
}

/** What a user may do for an account; null for nothing. */
export async function roleIn(db: Db | Trx, { userId, accountId }: Membership): Promise<MemberRole | null> {
  const row = await db('members')
    .where({ user_id: userId, account_id: accountId })
    .first<{ role: MemberRole } | undefined>('role')
  return row?.role ?? null
}

/** Locks the row of an account, as every change of its members does. @returns false if it was deleted. */
export const lockForMembers = async (trx: Trx, accountId: AccountId): Promise<boolean> =>
  (await trx('accounts').where({ id: accountId }).whereNull('deleted_at').forNoKeyUpdate().first('id')) !== undefined

/**
 * Refuses who is not owner or admin any more: their role may have changed since their request came. The account's row
 * must be locked.
 * @throws ApiError forbidden.
 */
export async function requireManager(trx: Trx, by: Membership): Promise<void> {
  const role = await roleIn(trx, by)
  if (role !== 'owner' && role !== 'admin') throw new ApiError('forbidden')
}

/** The accounts that a user is a member of, in the order of their ids; deleted ones too. */
export const accountsOf = async (db: Db | Trx, userId: UserId): Promise<AccountId[]> =>
  db('members').where({ user_id: userId }).orderBy('account_id').pluck<AccountId[]>('account_id')

/** Every membership of these accounts. */
export const membershipsOf = async (db: Db | Trx, accountIds: readonly AccountId[]): Promise<Membership[]> =>
  db('members')
    .whereRaw('account_id = ANY (?)', [[...accountIds]])
    .select<Membership[]>({ userId: 'user_id', accountId: 'account_id' })

/** Locks the rows of all accounts that a user is a member of, in the order of their ids. */
export async function lockAccountsOf(trx: Trx, userId: UserId): Promise<void> {
  await trx('accounts')
    .whereIn('id', await accountsOf(trx, userId))
    .orderBy('id')
    .forNoKeyUpdate()
    .select('id')
}
