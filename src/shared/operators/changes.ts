/** What operators may change, each with its record in the same transaction. */
import type { LimitChanges, OwnLimits } from '../identity/account-limits.ts'
import { setLimitsOf, setGroup } from '../identity/account-limits.ts'
import type { AccountStatus } from '../identity/accounts.ts'
import { lockToDelete, markDeleted, setStatus } from '../identity/accounts.ts'
import { revokeAllKeys } from '../identity/api-keys.ts'
import { forgetOrigins } from '../identity/import-origins.ts'
import { deleteInvitationsTo } from '../identity/invitations.ts'
import { endMembership, endOtherMemberships } from '../identity/member-changes.ts'
import { accountsOf, ownerOf } from '../identity/members.ts'
import { accountsActedFor, anyOwnedOrganisation } from '../identity/organisations.ts'
import { forgetAnswers } from '../calls/retention.ts'
import { holdNewest, newestGroups } from '../catalogue/versions.ts'
import { requestReset } from '../identity/password-changes.ts'
import { forgetNetworks } from '../identity/login.ts'
import { endSession, endSessions } from '../identity/sessions.ts'
import { deleteTickets } from '../identity/tickets.ts'
import type { NewUser, Role, UserFields, UserRow } from '../identity/users.ts'
import { createUser, findUser, lockUser, markVerified, pseudonymise, setRole } from '../identity/users.ts'
import { endOtherWays } from '../sign-in/identities.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, GrantId, MailId, SessionId, UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Deducted, NewDeduction } from '../ledger/deductions.ts'
import { deduct } from '../ledger/deductions.ts'
import type { NewGrant } from '../ledger/ledger.ts'
import { grant } from '../ledger/ledger.ts'
import { deleteWebhooksOf } from '../webhooks/deliveries.ts'
import { closeBilling, undecidedPayments } from '../payments/forgetting.ts'
import { deleteMailsOf, discardMails, requeueMails } from '../mail/mails.ts'
import type { ActionDetails, Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'
import { refuseOwnAccount } from '../action-log/own-account.ts'

/** Gives credits. @returns the balance after it. @throws as `grant`; ApiError forbidden for one's own account. */
export const grantCredits = async (db: Db, operator: Operator, given: NewGrant & { id: GrantId }): Promise<number> =>
  db.transaction(async (trx) => {
    await refuseOwnAccount(trx, operator, given.accountId)
    const credits = await grant(trx, given)
    await recordAction(trx, operator, 'credits_granted', given.accountId, {
      amount: given.amount,
      origin: given.origin,
      grantId: publicId('grant', given.id),
      note: given.note ?? null,
      expiresAt: given.expiresAt?.toISOString() ?? null,
    })
    return credits
  })

/** Takes credits back; recorded where this request took them. @returns null if there is no such account. */
export const deductCredits = async (db: Db, operator: Operator, wanted: NewDeduction): Promise<Deducted | null> =>
  db.transaction(async (trx) => {
    const done = await deduct(trx, wanted)
    if (done?.is === 'deducted') {
      await recordAction(trx, operator, 'credits_deducted', wanted.accountId, {
        amount: wanted.amount,
        taken: done.taken,
        owed: done.owed,
        note: wanted.reason,
        deductionId: publicId('deduction', done.id),
      })
    }
    return done
  })

/** Suspends or activates an account; false if there is none. */
export const setAccountStatus = async (
  db: Db,
  operator: Operator,
  id: AccountId,
  status: AccountStatus,
): Promise<boolean> =>
  db.transaction(async (trx) => {
    const found = await setStatus(trx, id, status)
    if (found) await recordAction(trx, operator, status === 'suspended' ? 'account_suspended' : 'account_activated', id)
    return found
  })

/**
 * Puts an account into a group of the newest version of the catalogue, or takes it out of any (null).
 * @returns `no_group` if the catalogue has no such group, `no_account` if there is no such account
 * @throws ApiError forbidden for one's own account: a group has its own prices.
 */
export const setAccountGroup = async (
  db: Db,
  operator: Operator,
  id: AccountId,
  group: string | null,
): Promise<'done' | 'no_group' | 'no_account'> =>
  db.transaction(async (trx) => {
    await refuseOwnAccount(trx, operator, id)
    await holdNewest(trx)
    if (group !== null && !Object.hasOwn(await newestGroups(trx), group)) return 'no_group'
    if (!(await setGroup(trx, id, group))) return 'no_account'
    await recordAction(trx, operator, 'account_grouped', id, { group })
    return 'done'
  })

/** Sets limits of an account. @returns all of its own as they are then; null if there is no such account. */
export const setAccountLimits = async (
  db: Db,
  operator: Operator,
  id: AccountId,
  changes: LimitChanges,
): Promise<OwnLimits | null> =>
  db.transaction(async (trx) => {
    const limits = await setLimitsOf(trx, id, changes)
    const changed = Object.entries(changes).filter(([, value]) => value !== undefined)
    if (limits && changed.length > 0) {
      await recordAction(trx, operator, 'account_limited', id, Object.fromEntries(changed) as ActionDetails)
    }
    return limits
  })

/** Gives the owner of an account a role. @throws if there is no such account. */
export const setAccountRole = async (db: Db, operator: Operator, id: AccountId, role: Role): Promise<void> =>
  db.transaction(async (trx) => {
    const owner = await ownerOf(trx, id)
    if (!owner) throw new Error('there is no such account')
    await setRole(trx, owner, role)
    await recordAction(trx, operator, 'role_changed', id, { role })
  })

type MailChange = typeof requeueMails

const changeDeadMails =
  (action: 'mail_revived' | 'mail_discarded', change: MailChange) =>
  (db: Db, operator: Operator, id: MailId | 'all'): Promise<number> =>
    db.transaction(async (trx) => {
      const count = await change(trx, id)
      const which: ActionDetails = id === 'all' ? { count } : { mailId: publicId('mail', id) }
      if (count > 0) await recordAction(trx, operator, action, null, which)
      return count
    })

/** Retries dead letters, one or all, with a full set of tries. @returns how many. */
export const requeueDeadMails = changeDeadMails('mail_revived', requeueMails)

/** Gives up on dead letters for good, on one or all. @returns how many. */
export const discardDeadMails = changeDeadMails('mail_discarded', discardMails)

/** Makes an account; null if its address is taken. `verified`: the operator vouches for it; no sign-up credits. */
export const makeAccount = (db: Db, operator: Operator, user: NewUser, verified = false): Promise<UserRow | null> =>
  db.transaction(async (trx) => {
    const made = await createUser(trx, user)
    if (!made) return null
    if (verified) await markVerified(trx, user.id)
    await recordAction(trx, operator, 'account_created', user.accountId)
    return findUser(trx, user.id)
  })

/**
 * Why an account was not deleted: it was before, or belongs to somebody else since, its owner owns an organisation too,
 * its calls run, payments of it are undecided, it owes credits, it has some that would be lost, or its owner's password
 * is not the one that was checked.
 */
export type Obstacle =
  | { is: 'deleted' }
  | { is: 'owning'; organisation: string }
  | { is: 'running'; calls: number }
  | { is: 'paying'; payments: number }
  | { is: 'owing'; debt: number }
  | { is: 'credits'; credits: number }
  | { is: 'password' }

/**
 * The user and account to delete. `giveUpCredits`: also if there are still credits; `force`: also then, and with a
 * debt; `evenPaying`: also while payments are undecided. `passwordHash`: of a password that nobody knows. `checked`:
 * the hash of the password that its owner gave, where they ask for it themselves.
 */
export type Deletion = {
  userId: UserId
  accountId: AccountId
  giveUpCredits?: boolean
  force?: boolean
  evenPaying?: boolean
  passwordHash: string
  checked?: string
}

/**
 * Deletes an account, for an operator or for its owner: its name, sessions, keys, card and answers go, its media
 * results within minutes; with a person's own account the person, their address, mails and memberships. The ledger, the
 * payments and the records of calls stay, exact, and nobody's.
 * @param deletion `userId`: of its owner.
 * @returns null if it was deleted.
 */
export const deleteAccount = async (
  db: Db,
  operator: Operator,
  { userId, accountId, giveUpCredits = false, force = false, evenPaying = false, passwordHash, checked }: Deletion,
): Promise<Obstacle | null> =>
  db.transaction(async (trx) => {
    const user = await lockUser(trx, userId)
    const { kind, credits, debt, running, isDeleted } = await lockToDelete(
      trx,
      accountId,
      await accountsOf(trx, userId),
    )
    if (isDeleted || !user || (await ownerOf(trx, accountId)) !== userId) return { is: 'deleted' }
    const owned = kind === 'personal' ? await anyOwnedOrganisation(trx, userId) : null
    if (owned !== null) return { is: 'owning', organisation: owned }
    if (checked !== undefined && user.password_hash !== checked) return { is: 'password' }
    if (running > 0) return { is: 'running', calls: running }
    if (debt > 0 && !force) return { is: 'owing', debt }
    if (credits > 0 && !giveUpCredits && !force) return { is: 'credits', credits }
    // Last: payments that nobody has made are cancelled for it.
    const payments = await undecidedPayments(trx, accountId)
    if (payments > 0 && !evenPaying) return { is: 'paying', payments }
    await revokeAllKeys(trx, accountId)
    await forgetAnswers(trx, accountId)
    await forgetOrigins(trx, { account_id: accountId })
    await closeBilling(trx, accountId)
    await deleteWebhooksOf(trx, accountId)
    if (kind === 'personal') await forgetPerson(trx, user, passwordHash)
    else await endOtherMemberships(trx, accountId)
    await markDeleted(trx, accountId)
    await recordAction(trx, operator, 'account_deleted', accountId, { credits, ...(debt > 0 && { debt }) })
    return null
  })

/** Removes a person whose own account is deleted. The rows of theirs and of all their accounts must be locked. */
async function forgetPerson(trx: Trx, { id, email }: UserFields, passwordHash: string): Promise<void> {
  for (const { accountId, role } of await accountsActedFor(trx, id)) {
    if (role !== 'owner') await endMembership(trx, { userId: id, accountId })
  }
  await endSessions(trx, id)
  await endOtherWays(trx, id)
  await forgetOrigins(trx, { user_id: id })
  await deleteTickets(trx, id)
  await forgetNetworks(trx, id)
  await deleteMailsOf(trx, id, email)
  await deleteInvitationsTo(trx, email)
  await pseudonymise(trx, id, passwordHash)
}

/** Sends the link that sets a new password, as its owner could ask for it. */
export const sendPasswordReset = async (
  db: Db,
  operator: Operator,
  { email, account_id: accountId }: Pick<UserRow, 'email' | 'account_id'>,
): Promise<MailId> =>
  db.transaction(async (trx) => {
    const id = await requestReset(trx, email)
    await recordAction(trx, operator, 'password_reset_sent', accountId, { mailId: publicId('mail', id) })
    return id
  })

/** Ends one session of a user, or all; false if there is no such session. */
export const revokeSessions = async (
  db: Db,
  operator: Operator,
  { id: userId, account_id: accountId }: Pick<UserRow, 'id' | 'account_id'>,
  session: SessionId | 'all',
): Promise<boolean> =>
  db.transaction(async (trx) => {
    await lockUser(trx, userId)
    if (session === 'all') await endSessions(trx, userId)
    else if (!(await endSession(trx, userId, session))) return false
    await recordAction(trx, operator, 'sessions_revoked', accountId, {
      sessionId: session === 'all' ? null : publicId('session', session),
    })
    return true
  })

/** Records that everything about an account was handed out. */
export const recordExport = async (db: Db, operator: Operator, id: AccountId): Promise<void> =>
  db.transaction((trx) => recordAction(trx, operator, 'account_exported', id))
