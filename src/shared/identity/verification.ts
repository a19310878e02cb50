/**
 * The proof that an address belongs to its account, by a mailed link; and another address for a user, confirmed by a
 * link that goes to the new one. The one that they have is notified of both.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, UserId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import { accessTo } from './password-changes.ts'
import { requestMail, requestNewMail, verificationsOfLastHour } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import type { SignupTerms } from './signup-credits.ts'
import { giveSignupCredits } from './signup-credits.ts'
import type { UserFields, UserRow } from './users.ts'
import { findUser, lockUser, markVerified, isAddressTaken, setEmail } from './users.ts'
import type { Sender } from './hashing-gate.ts'
import { withHashing } from './hashing-gate.ts'
import type { OwnProof } from './passwords.ts'
import { verifyOwner } from './passwords.ts'

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
 * links it was mailed. It ends nothing; a mail about what can use the account has the link that does, and is sent where
 * a key can, or a session in another browser than that of the proof.
 * @param session the token of the session in which the link was opened, empty where it was in none
 * @throws ApiError invalid_token.
 */
export async function verifyEmail(db: Db, token: string, terms: SignupTerms, session: string): Promise<Proven> {
  return db.transaction(async (trx) => {
    const userId = await findToken(trx, 'verification', token)
    const before = userId && (await lockUser(trx, userId))
    if (!before || !(await spendToken(trx, 'verification', token))) throw new ApiError('invalid_token')
    return (
      (await proveAddress(trx, before, terms, session)) ?? { user: (await findUser(trx, before.id))!, mailId: null }
    )
  })
}

/** Notes the first proof of a user's address, and gives what waits for it; null if it had been proved. */
export async function proveAddress(
  trx: Trx,
  before: UserFields,
  terms: SignupTerms,
  session = '',
): Promise<Proven | null> {
  if (before.email_verified_at !== null) return null
  await markVerified(trx, before.id)
  const user = await proven(trx, before, terms)
  const { keys, sessions } = await accessTo(trx, before.id, session)
  return { user, mailId: keys + sessions > 0 ? await requestAccessMail(trx, before.id, before.email) : null }
}

/** The user as they are now; with their first proof of an address, the sign-up credits are theirs. */
export async function proven(trx: Trx, before: UserFields, terms: SignupTerms): Promise<UserRow> {
  const user = (await findUser(trx, before.id))!
  return before.email_verified_at === null ? giveSignupCredits(trx, user, terms) : user
}

/** Asks for the mail about what can use an account, to an address that was just proved: see `closeAccess`. */
export const requestAccessMail = (trx: Trx, userId: UserId, recipient: string): Promise<MailId> =>
  requestNewMail(trx, { kind: 'access', recipient, userId })

/** `email` was checked, `password` is the text that was typed. */
export type AddressChange = OwnProof & { userId: UserId; email: string; sender: Sender }

/**
 * Asks for another address: a link to it, and a notice to the one that the user has. The same two mails are written
 * whether somebody has the address or not; the worker sends no link to an address that is taken.
 * @returns the mails, to be enqueued.
 * @throws ApiError wrong_password; invalid_request if it is the user's address already; overloaded; as `verifyOwner`.
 */
export async function requestAddress(db: Db, { userId, email, sender, ...proof }: AddressChange): Promise<MailId[]> {
  const checked = await withHashing(sender, async () => {
    const user = await findUser(db, userId)
    return (await verifyOwner(user?.password_hash ?? null, proof)) ? user!.password_hash : null
  })
  return db.transaction(async (trx) => {
    const user = await lockUser(trx, userId)
    if (checked === null || user?.password_hash !== checked) throw new ApiError('wrong_password')
    if (user.email === email)
      throw new ApiError('invalid_request', { message: 'email is your address already.', param: 'email' })
    const link = await requestNewMail(trx, { kind: 'address', recipient: email, userId })
    return [link, await notify(trx, { userId, recipient: user.email, address: email, step: 'asked' })]
  })
}

type Notice = { userId: UserId; recipient: string; address: string; step: 'asked' | 'changed' }

const notify = (trx: Trx, { userId, recipient, ...details }: Notice): Promise<MailId> =>
  requestNewMail(trx, { kind: 'address_notice', recipient, userId, details })

/**
 * Gives a user the address that their link was mailed to, proved by it; links to the address before end. Sign-up
 * credits that wait for a proof are given as by `verifyEmail`, and as there it ends nothing.
 * @returns the user, and the mails to be enqueued: the notice to the address before, and to the new one that about
 * what can use the account.
 * @throws ApiError invalid_token, also if somebody has taken the address since.
 */
export async function confirmAddress(
  db: Db,
  token: string,
  terms: SignupTerms,
): Promise<{ user: UserRow; mailIds: MailId[] }> {
  try {
    return await db.transaction(async (trx) => {
      const userId = await findToken(trx, 'address', token)
      const before = userId && (await lockUser(trx, userId))
      const spent = before && (await spendToken(trx, 'address', token))
      if (!spent) throw new ApiError('invalid_token')
      const notice = await notify(trx, {
        userId: before.id,
        recipient: before.email,
        address: spent.email,
        step: 'changed',
      })
      await setEmail(trx, before.id, spent.email)
      const user = await proven(trx, before, terms)
      return { user, mailIds: [notice, await requestAccessMail(trx, before.id, spent.email)] }
    })
  } catch (error) {
    if (isAddressTaken(error)) throw new ApiError('invalid_token')
    throw error
  }
}
