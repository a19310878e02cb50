/**
 * New passwords: by the old one, or by a mailed link. Hashing happens outside of transactions; whatever was decided before
 * is decided again, under the lock, by the statement that counts.
 */
import type { Db } from '../infra/db.ts'
import { ApiError } from '../errors.ts'
import type { AccountId, MailId, SessionId } from '../ids.ts'
import { newId } from '../ids.ts'
import { requestMail } from '../mail/mails.ts'
import { findToken, spendToken } from './one-time-tokens.ts'
import { checkNewPassword, hashPassword, passHashingGate, verifyPassword } from './passwords.ts'
import { endSessions } from './sessions.ts'
import { findUser, lockUser, setPasswordHash } from './users.ts'

/** What an owner who is logged in sends. `password` was checked. */
export type PasswordChange = { accountId: AccountId; sessionId: SessionId; currentPassword: string; password: string }

/**
 * Changes the password of who knows the current one. All other sessions and every reset link end.
 * @throws ApiError wrong_password, overloaded.
 */
export async function changePassword(
  db: Db,
  { accountId, sessionId, currentPassword, password }: PasswordChange,
): Promise<void> {
  const hashes = await passHashingGate(async () => {
    const user = await findUser(db, accountId)
    const right = await verifyPassword(user?.password_hash ?? null, currentPassword)
    return right && user ? { current: user.password_hash, next: await hashPassword(password) } : null
  })
  if (!hashes) throw new ApiError('wrong_password')
  await db.transaction(async (trx) => {
    const user = await lockUser(trx, accountId)
    if (user?.password_hash !== hashes.current) throw new ApiError('wrong_password')
    await setPasswordHash(trx, accountId, hashes.next)
    await endSessions(trx, accountId, sessionId)
  })
}

/**
 * Asks for a reset mail. The very same one row for every address, whether there is an account or not: neither the answer nor
 * its time can tell. The worker decides whether a mail goes out.
 */
export async function requestReset(db: Db, email: string): Promise<MailId> {
  const id = newId('mail')
  await requestMail(db, { id, kind: 'reset', recipient: email, accountId: null })
  return id
}

/**
 * Sets a new password by a reset link; every session and every reset link of the account ends. The link is looked up first:
 * garbage costs no hash, and a weak password does not spend it.
 * @throws ApiError invalid_token, the codes of `checkNewPassword`, overloaded.
 */
export async function resetPassword(db: Db, token: string, newPassword: unknown): Promise<AccountId> {
  const accountId = await findToken(db, 'reset', token)
  if (!accountId) throw new ApiError('invalid_token')
  const password = checkNewPassword(newPassword)
  const passwordHash = await passHashingGate(() => hashPassword(password))
  await db.transaction(async (trx) => {
    await lockUser(trx, accountId)
    if (!(await spendToken(trx, 'reset', token))) throw new ApiError('invalid_token')
    await setPasswordHash(trx, accountId, passwordHash)
    await endSessions(trx, accountId)
  })
  return accountId
}
