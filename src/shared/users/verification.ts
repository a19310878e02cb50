/**
 * The proof that an address belongs to its account, by a mailed link.
 */
import type { Db, Trx } from '../infra/db.ts'
import { ApiError } from '../errors.ts'
import type { MailId, UserId } from '../ids.ts'
import { newId } from '../ids.ts'
import { grant, hasGrantOf } from '../ledger/ledger.ts'
import { requestMail, verificationsOfLastHour } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import type { UserRow } from './users.ts'
import { findUser, lockUser, markVerified } from './users.ts'

/**
 * Asks for another verification mail; links of earlier ones go on working.
 * @param hourlyLimit verification mails of a user in an hour, the one of its registration among them.
 * @throws ApiError already_verified, rate_limited.
 */
export async function requestVerification(db: Db, userId: UserId, hourlyLimit: number): Promise<MailId> {
  const id = newId('mail')
  await db.transaction(async (trx) => {
    // The lock makes simultaneous requests count each other's mails.
    const user = await lockUser(trx, userId)
    if (!user || user.email_verified_at) throw new ApiError('already_verified')
    const recent = await verificationsOfLastHour(trx, userId, hourlyLimit)
    if (recent.count >= hourlyLimit)
      throw new ApiError('rate_limited', { retryAfterSeconds: recent.oldestLeavesInSeconds })
    await requestMail(trx, { id, kind: 'verification', recipient: user.email, userId })
  })
  return id
}

/**
 * Proves the address by its link, and gives the sign-up credits with it: once an account, however many links it was
 * mailed.
 * @param signupCredits what the first proof of an address grants, perhaps nothing.
 * @throws ApiError invalid_token.
 */
export async function verifyEmail(db: Db, token: string, signupCredits: number): Promise<UserRow> {
  return db.transaction(async (trx) => {
    const userId = await findToken(trx, 'verification', token)
    if (!userId) throw new ApiError('invalid_token')
    const before = await lockUser(trx, userId)
    if (!(await spendToken(trx, 'verification', token))) throw new ApiError('invalid_token')
    await markVerified(trx, userId)
    return proven(trx, userId, before?.email_verified_at === null ? signupCredits : 0)
  })
}

/** The user, who has proved an address; `signupCredits` are theirs unless they had some before. */
export async function proven(trx: Trx, userId: UserId, signupCredits: number): Promise<UserRow> {
  const user = (await findUser(trx, userId))!
  const accountId = user.account_id
  if (signupCredits > 0 && !(await hasGrantOf(trx, accountId, 'signup')))
    user.credits = await grant(trx, { id: newId('grant'), accountId, origin: 'signup', amount: signupCredits })
  return user
}
