/**
 * Leaving: a user deletes the account that is theirs, or an organisation that they own, with the password. What goes
 * and what stays is docs/accounts-and-mail.md#accounts-over-their-life.
 */
import { randomBytes } from 'node:crypto'
import { organisationOf } from '../identity/organisations.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Obstacle } from './changes.ts'
import { deleteAccount } from './changes.ts'
import type { Sender } from '../identity/hashing-gate.ts'
import { withHashing } from '../identity/hashing-gate.ts'
import type { OwnProof } from '../identity/passwords.ts'
import { hashPassword, verifyOwner } from '../identity/passwords.ts'
import { findUser } from '../identity/users.ts'

/**
 * `giveUpCredits`: also where there are credits left, which are lost. `cancelUnpaid` ends the payments of the account
 * that nobody has made, so that they do not keep it.
 */
export type Leaving = OwnProof & {
  userId: UserId
  giveUpCredits: boolean
  sender: Sender
  cancelUnpaid: (accountId: AccountId) => Promise<void>
}

/**
 * Deletes a user with their own account, and ends their memberships. The record of it names themselves.
 * @throws ApiError wrong_password; conflict while they own an organisation, which it names, while calls run or payments
 * are undecided, with a debt, or with credits that are not given up; overloaded; and as `verifyOwner`.
 */
export const leave = (db: Db, leaving: Leaving): Promise<void> => deleteWithPassword(db, leaving, null)

/**
 * Deletes an organisation for its owner. `name`: its name, as a confirmation.
 * @throws ApiError not_found if the user is no member of such an organisation; forbidden for all but its owner;
 * invalid_request for another name; and as `leave`.
 */
export async function deleteOrganisation(
  db: Db,
  { accountId, name, ...leaving }: Leaving & { accountId: AccountId; name: string },
): Promise<void> {
  const organisation = await organisationOf(db, { userId: leaving.userId, accountId })
  if (!organisation) throw new ApiError('not_found')
  if (organisation.role !== 'owner') {
    throw new ApiError('forbidden', { message: 'Only its owner can delete an organisation.' })
  }
  if (organisation.name !== name.trim()) {
    throw new ApiError('invalid_request', { param: 'name', message: 'name must be the name of the organisation.' })
  }
  await deleteWithPassword(db, leaving, accountId)
}

/** @param organisation null: the user's own account. */
async function deleteWithPassword(
  db: Db,
  { userId, giveUpCredits, sender, cancelUnpaid, ...proof }: Leaving,
  organisation: AccountId | null,
): Promise<void> {
  const checked = await withHashing(sender, async () => {
    const user = await findUser(db, userId)
    const right = await verifyOwner(user?.password_hash ?? null, proof)
    return right && user ? { user, passwordHash: await unknownPassword() } : null
  })
  if (!checked) throw new ApiError('wrong_password')
  const { user, passwordHash } = checked
  const accountId = organisation ?? user.account_id
  const whom = { userId, accountId, giveUpCredits, passwordHash, checked: user.password_hash }
  let why = await deleteAccount(db, userId, whom)
  if (why?.is === 'paying') {
    await cancelUnpaid(accountId)
    why = await deleteAccount(db, userId, whom)
  }
  if (why) throw refusal(why)
}

const unknownPassword = (): Promise<string> => hashPassword(randomBytes(32).toString('base64url'))

function refusal(why: Obstacle): ApiError {
  if (why.is === 'deleted') return new ApiError('unauthorized')
  if (why.is === 'password') return new ApiError('wrong_password')
  return new ApiError('conflict', { message: conflictOf(why) })
}

function conflictOf(why: Exclude<Obstacle, { is: 'deleted' | 'password' }>): string {
  switch (why.is) {
    case 'owning':
      return `You own the organisation "${why.organisation}". Hand it over or delete it first.`
    case 'running':
      return `Calls that have not ended yet: ${why.calls}. Try again when they have.`
    case 'paying':
      return (
        `Payments that are not decided yet: ${why.payments}. Try again when they are: some ways to pay take days, ` +
        'and a checkout that nobody pays expires after a day.'
      )
    case 'owing':
      return `The account owes ${why.debt} credits. Get credits to repay them, then delete it.`
    case 'credits':
      return `The account has ${why.credits} credits, which would be lost. Give them up to delete it.`
  }
}
