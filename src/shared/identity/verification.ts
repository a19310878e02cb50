/** The proof that an address belongs to its account, by a mailed link. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, UserId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import { requestMail, requestNewMail, verificationsOfLastHour } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import type { SignupTerms } from './signup-credits.ts'
import { giveSignupCredits } from './signup-credits.ts'
import type { UserFields, UserRow } from './users.ts'
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

/** A user who has proved an address. `mailId`: the mail about what can use the account, to be enqueued. */
export type Proven = { user: UserRow; mailId: MailId | null }

/**
 * Proves the address by its link, and gives the sign-up credits with it: once an account and mailbox, however many
 * links it was mailed. It ends nothing; a mail about what can use the account has the link that does.
 * @throws ApiError invalid_token.
 */
export async function verifyEmail(db: Db, token: string, terms: SignupTerms): Promise<Proven> {
  return db.transaction(async (trx) => {
    const userId = await findToken(trx, 'verification', token)
    const before = userId && (await lockUser(trx, userId))
    if (!before || !(await spendToken(trx, 'verification', token))) throw new ApiError('invalid_token')
    await markVerified(trx, before.id)
    const isFirst = before.email_verified_at === null
    return {
      user: await proven(trx, before, terms),
      mailId: isFirst ? await requestAccessMail(trx, before.id, before.email) : null,
    }
  })
}

/** The user as they are now; with their first proof of an address, the sign-up credits are theirs. */
export async function proven(trx: Trx, before: UserFields, terms: SignupTerms): Promise<UserRow> {
  const user = (await findUser(trx, before.id))!
  return before.email_verified_at === null ? giveSignupCredits(trx, user, terms) : user
}

/** Asks for the mail about what can use an account, to an address that was just proved: see `closeAccess`. */
export const requestAccessMail = (trx: Trx, userId: UserId, recipient: string): Promise<MailId> =>
  requestNewMail(trx, { kind: 'access', recipient, userId })
