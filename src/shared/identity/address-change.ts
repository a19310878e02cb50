/**
 * Another address for a user: asked for with the password, confirmed by a link that goes to the new one. The one that
 * they have is notified of both.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, UserId } from '../platform/ids.ts'
import { requestNewMail } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import type { Sender } from './hashing-gate.ts'
import { withHashing } from './hashing-gate.ts'
import { verifyPassword } from './passwords.ts'
import type { UserRow } from './users.ts'
import { findUser, isAddressTaken, lockUser, setEmail } from './users.ts'
import type { SignupTerms } from './signup-credits.ts'
import { proven, requestAccessMail } from './verification.ts'

/** `email` was checked, `password` is the text that was typed. */
export type AddressChange = { userId: UserId; email: string; password: string; sender: Sender }

/**
 * Asks for another address: a link to it, and a notice to the one that the user has. The same two mails are written
 * whether somebody has the address or not; the worker sends no link to an address that is taken.
 * @returns the mails, to be enqueued.
 * @throws ApiError wrong_password; invalid_request if it is the user's address already; overloaded.
 */
export async function requestAddress(db: Db, { userId, email, password, sender }: AddressChange): Promise<MailId[]> {
  const checked = await withHashing(sender, async () => {
    const user = await findUser(db, userId)
    return (await verifyPassword(user?.password_hash ?? null, password)) ? user!.password_hash : null
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
