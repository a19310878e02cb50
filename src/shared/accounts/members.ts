/**
 * Members: who may act for which account. Everybody who registers is the owner of an account of their own; an account
 * has one owner.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, UserId } from '../platform/ids.ts'

/** `owner`: may do everything. */
export type MemberRole = 'owner'

/** A user, and the account that they act for. */
export type Membership = { userId: UserId; accountId: AccountId }

/** Lets a user act for an account. @throws where the account has an owner already (a constraint says so). */
export async function addMember(trx: Trx, { userId, accountId }: Membership, role: MemberRole): Promise<void> {
  await trx('members').insert({ user_id: userId, account_id: accountId, role })
}

/** The owner of an account; null if there is no such account. */
export async function ownerOf(db: Db | Trx, accountId: AccountId): Promise<UserId | null> {
  const row = await db('members')
    .where({ account_id: accountId, role: 'owner' })
    .first<{ user_id: UserId } | undefined>('user_id')
  return row?.user_id ?? null
}
