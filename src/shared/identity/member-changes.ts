/**
 * Changes of members, under the lock of the account's row, as every charge: a call is judged by what a member may spend
 * before a change or after it.
 */
import { ApiError } from '../platform/errors.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { revokeKeysOfMember } from './api-keys.ts'
import type { Budget } from './budgets.ts'
import { setBudget } from './budgets.ts'
import type { GivenRole, MemberRole, Membership } from './members.ts'
import { lockForMembers, ownerOf, requireManager, roleIn } from './members.ts'
import type { Member } from './shown-member.ts'
import { listMembers } from './shown-member.ts'

/** What may be changed of a member; what is absent stays, null lifts the budget. */
export type MemberChanges = { role?: GivenRole | undefined; budget?: Budget | null | undefined }

/** Locks the account and reads the member's role. @throws ApiError not_found. */
async function lockMember(trx: Trx, member: Membership): Promise<MemberRole> {
  const role = (await lockForMembers(trx, member.accountId)) ? await roleIn(trx, member) : null
  if (!role) throw new ApiError('not_found')
  return role
}

const OWN_BUDGET = 'Nobody changes their own budget. Another admin or the owner can.'
const LAST_OWNER = 'An account always has an owner. Hand it over to another member first.'

/**
 * Changes the role or the budget of a member.
 * @param by who does: the owner or an admin.
 * @throws ApiError not_found; forbidden, also for one's own budget; last_owner for another role of the owner;
 * invalid_request for a budget of the owner.
 */
export const changeMember = (
  db: Db,
  member: Membership,
  { role, budget }: MemberChanges,
  by: UserId,
): Promise<Member> =>
  db.transaction(async (trx) => {
    const before = await lockMember(trx, member)
    if (budget !== undefined && by === member.userId) throw new ApiError('forbidden', { message: OWN_BUDGET })
    await requireManager(trx, { ...member, userId: by })
    if (before === 'owner' && role !== undefined) throw new ApiError('last_owner', { message: LAST_OWNER })
    if (before === 'owner' && budget) {
      throw new ApiError('invalid_request', { param: 'budget', message: 'budget cannot be set for the owner.' })
    }
    if (role !== undefined) await setMemberRole(trx, member, role)
    if (budget !== undefined) await setMemberBudget(trx, member, budget)
    return await shown(trx, member)
  })

/** Sets or lifts the budget of a member. The account's row must be locked. */
export async function setMemberBudget(
  trx: Trx,
  { userId, accountId }: Membership,
  budget: Budget | null,
): Promise<void> {
  await setBudget(trx, accountId, { scope: 'member', userId }, budget)
  await trx.raw('SELECT mark_limited(?)', [accountId])
}

/** Changes a role. A member who is no longer an admin has invited nobody: their invitations end with the role. */
async function setMemberRole(trx: Trx, { userId, accountId }: Membership, role: MemberRole): Promise<void> {
  await trx('members').where({ user_id: userId, account_id: accountId }).update({ role })
  if (role === 'member') await trx('invitations').where({ invited_by: userId, account_id: accountId }).delete()
}

const shown = async (trx: Trx, { userId, accountId }: Membership): Promise<Member> =>
  (await listMembers(trx, { accountId, memberId: userId }))[0]!

/**
 * Removes a member: their keys of the account are revoked at once, their sessions for it, their budget and the
 * invitations that they sent end with the membership. Calls that run end as they would.
 * @param by who does: the owner, an admin, or the member.
 * @throws ApiError not_found; forbidden; last_owner.
 */
export const removeMember = (db: Db, member: Membership, by: UserId): Promise<void> =>
  db.transaction(async (trx) => {
    const role = await lockMember(trx, member)
    if (by !== member.userId) await requireManager(trx, { ...member, userId: by })
    if (role === 'owner') throw new ApiError('last_owner', { message: LAST_OWNER })
    await endMembership(trx, member)
  })

/** Ends a membership that is not an owner's. The account's row must be locked. */
export async function endMembership(trx: Trx, member: Membership): Promise<void> {
  await revokeKeysOfMember(trx, member)
  await trx('members').where({ user_id: member.userId, account_id: member.accountId }).delete()
  await trx.raw('SELECT mark_limited(?)', [member.accountId])
}

/** Ends every membership of an organisation but its owner's. The account's row must be locked, its keys revoked. */
export async function endOtherMemberships(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('invitations').where({ account_id: accountId }).delete()
  await trx('members').where({ account_id: accountId }).whereNot({ role: 'owner' }).delete()
}

/**
 * Hands an account over: the member becomes its owner, whose budget is lifted, and the former owner an admin.
 * @throws ApiError not_found; forbidden where `by` is no longer the owner.
 */
export const makeOwner = (db: Db, member: Membership, by: UserId): Promise<Member> =>
  db.transaction(async (trx) => {
    await lockMember(trx, member)
    if ((await ownerOf(trx, member.accountId)) !== by) throw new ApiError('forbidden')
    await setMemberRole(trx, { ...member, userId: by }, 'admin')
    await setMemberRole(trx, member, 'owner')
    await setMemberBudget(trx, member, null)
    return await shown(trx, member)
  })
