/**
 * Password changes: with the old password, or by a mailed link. Hashing happens outside of transactions, so
 * everything checked before it is checked again, under the lock, by the statement that changes the password.
 */
import type { Db, Trx } from '../infra/db.ts'
import { ApiError } from '../errors.ts'
import type { AccountId, MailId, UserId } from '../ids.ts'
import { newId } from '../ids.ts'
import { requestMail } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import type { Sender } from './hashing-gate.ts'
import { withHashing } from './hashing-gate.ts'
import type { NetworkHash } from './login-networks.ts'
import { rememberNetwork } from './login-networks.ts'
import { checkNewPassword, hashPassword, verifyPassword } from './passwords.ts'
import type { LiveSession } from './sessions.ts'
import { endSessions } from './sessions.ts'
import { findUser, lockUser, setPasswordHash } from './users.ts'

/** What an owner who is logged in sends. `password` was checked. */
export type PasswordChange = Pick<LiveSession, 'userId' | 'sessionId'> & {
  currentPassword: string
  password: string
  sender: Sender
}

/**
 * Changes the password of a user who knows the current one. Ends all other sessions and every reset link.
 * @throws ApiError wrong_password, overloaded.
 */
export async function changePassword(
  db: Db,
  { userId, sessionId, currentPassword, password, sender }: PasswordChange,
): Promise<void> {
  const hashes = await withHashing(sender, async () => {
    const user = await findUser(db, userId)
    const right = await verifyPassword(user?.password_hash ?? null, currentPassword)
    return right && user ? { current: user.password_hash, next: await hashPassword(password) } : null
  })
  if (!hashes) throw new ApiError('wrong_password')
  await db.transaction(async (trx) => {
    const user = await lockUser(trx, userId)
    if (user?.password_hash !== hashes.current) throw new ApiError('wrong_password')
    await setPasswordHash(trx, userId, hashes.next)
    await endSessions(trx, userId, sessionId)
  })
}

/**
 * Checks that whoever is logged in knows the password, before something that a stolen session must not do.
 * @throws ApiError wrong_password, overloaded.
 */
export async function confirmPassword(db: Db, userId: UserId, password: string, sender: Sender): Promise<void> {
  const user = await findUser(db, userId)
  const isRight = await withHashing(sender, () => verifyPassword(user?.password_hash ?? null, password))
  if (!isRight) throw new ApiError('wrong_password')
}

/**
 * Requests a reset mail. Writes the same single row for every address, whether it has an account or not, so that
 * neither the answer nor its timing reveals it. The worker decides whether a mail is sent.
 */
export async function requestReset(db: Db | Trx, email: string): Promise<MailId> {
  const id = newId('mail')
  await requestMail(db, { id, kind: 'reset', recipient: email, userId: null })
  return id
}

/** What comes with a reset link. `newPassword` is whatever was sent; `address` and `network` are the client's. */
export type Reset = { token: string; newPassword: unknown; address: string; network: NetworkHash }

/**
 * Sets a new password by a reset link; every session and every reset link of the user ends. The link is looked up
 * first: an invalid one costs no hash, and a weak password does not use it up. Whoever has the link may log in from
 * there, whatever others guess.
 * @returns the account that the user acts for.
 * @throws ApiError invalid_token, the codes of `checkNewPassword`, overloaded.
 */
export async function resetPassword(db: Db, { token, newPassword, address, network }: Reset): Promise<AccountId> {
  const userId = await findToken(db, 'reset', token)
  if (!userId) throw new ApiError('invalid_token')
  const password = checkNewPassword(newPassword)
  const passwordHash = await withHashing({ address, known: true }, () => hashPassword(password))
  return db.transaction(async (trx) => {
    await lockUser(trx, userId)
    if (!(await spendToken(trx, 'reset', token))) throw new ApiError('invalid_token')
    await setPasswordHash(trx, userId, passwordHash)
    await endSessions(trx, userId)
    await rememberNetwork(trx, userId, network)
    return (await findUser(trx, userId))!.account_id
  })
}
