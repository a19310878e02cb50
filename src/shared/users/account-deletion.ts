/**
 * Leaving: a user deletes the account that is theirs, with the password. What goes and what stays is
 * docs/accounts-and-mail.md#accounts-over-their-life.
 */
import { randomBytes } from 'node:crypto'
import type { Membership } from '../accounts/members.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId } from '../platform/ids.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { KeptBecause } from '../operators/changes.ts'
import { deleteAccount } from '../operators/changes.ts'
import type { Sender } from './hashing-gate.ts'
import { withHashing } from './hashing-gate.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { findUser } from './users.ts'

/**
 * `giveUpCredits`: also where there are credits left, which are lost. `cancelUnpaid` ends the payments of the account
 * that nobody has made, so that they do not keep it.
 */
export type Leaving = Membership & {
  password: string
  giveUpCredits: boolean
  sender: Sender
  cancelUnpaid: (accountId: AccountId) => Promise<void>
}

/**
 * Deletes an account for its owner. The record of it names themselves.
 * @throws ApiError wrong_password; conflict while calls run or payments are undecided, beside a debt, or beside credits
 * that are not given up; overloaded.
 */
export async function leave(
  db: Db,
  { userId, accountId, password, giveUpCredits, sender, cancelUnpaid }: Leaving,
): Promise<void> {
  const hashes = await withHashing(sender, async () => {
    const user = await findUser(db, userId)
    const right = await verifyPassword(user?.password_hash ?? null, password)
    return right && user ? { checked: user.password_hash, passwordHash: await unknownPassword() } : null
  })
  if (!hashes) throw new ApiError('wrong_password')
  const whom = { userId, accountId, giveUpCredits, ...hashes }
  let kept = await deleteAccount(db, userId, whom)
  if (kept?.is === 'paying') {
    await cancelUnpaid(accountId)
    kept = await deleteAccount(db, userId, whom)
  }
  if (kept) throw refusal(kept)
}

const unknownPassword = (): Promise<string> => hashPassword(randomBytes(32).toString('base64url'))

function refusal(kept: KeptBecause): ApiError {
  switch (kept.is) {
    case 'deleted':
      return new ApiError('unauthorized')
    case 'password':
      return new ApiError('wrong_password')
    case 'running':
      return new ApiError('conflict', {
        message: `Calls that have not ended yet: ${kept.calls}. Try again when they have.`,
      })
    case 'paying':
      return new ApiError('conflict', {
        message:
          `Payments that are not decided yet: ${kept.payments}. Try again when they are: some ways to pay take days, ` +
          'and a checkout that nobody pays expires after a day.',
      })
    case 'owing':
      return new ApiError('conflict', {
        message: `The account owes ${kept.debt} credits. Get credits to repay them, then delete it.`,
      })
    case 'credits':
      return new ApiError('conflict', {
        message: `The account has ${kept.credits} credits, which would be lost. Give them up to delete it.`,
      })
  }
}
