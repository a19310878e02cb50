/**
 * Password changes: with the old password, or by a mailed link. Hashing happens outside of transactions, so
 * everything checked before it is checked again, under the lock, by the statement that changes the password.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import { countValidKeys, revokeKeysOfUser } from './api-keys.ts'
import type { AccountId, MailId, UserId } from '../platform/ids.ts'
import { requestNewMail } from '../mail/mails.ts'
import { findAccessToken, findToken, spendAccessTokens, spendToken } from './one-time-tokens.ts'
import type { Sender } from './hashing-gate.ts'
import { withHashing } from './hashing-gate.ts'
import type { NetworkHash } from './login.ts'
import { rememberNetwork } from './login.ts'
import type { OwnProof } from './passwords.ts'
import { checkNewPassword, hashPassword, verifyOwner, verifyPassword } from './passwords.ts'
import type { LiveSession } from './sessions.ts'
import { countSessions, endSessions } from './sessions.ts'
import type { UserFields } from './users.ts'
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
 * Checks that the user who is logged in proves themselves, before something that a stolen session must not do.
 * @throws ApiError wrong_password, overloaded, and as `verifyOwner`.
 */
export async function confirmOwner(db: Db, userId: UserId, proof: OwnProof, sender: Sender): Promise<void> {
  const user = await findUser(db, userId)
  const isRight = await withHashing(sender, () => verifyOwner(user?.password_hash ?? null, proof))
  if (!isRight) throw new ApiError('wrong_password')
}

/**
 * Requests a reset mail. Writes the same single row for every address, whether it has an account or not, so that
 * neither the answer nor its timing reveals it. The worker decides whether a mail is sent.
 */
export const requestReset = (db: Db | Trx, email: string): Promise<MailId> =>
  requestNewMail(db, { kind: 'reset', recipient: email, userId: null })

/**
 * What comes with a mailed link. `newPassword` is unchecked; `address` and `network` are the client's. `endFactors`
 * ends what else signs the user in, where their keys end.
 */
export type NewPassword = {
  token: string
  newPassword: unknown
  address: string
  network: NetworkHash
  endFactors: (trx: Trx, userId: UserId) => Promise<void>
}

/** Whose password was set, and how many keys ended with it. */
export type SetByLink = { accountId: AccountId; keys: number }

/**
 * Sets a new password by a reset link; every session and every reset link of the user ends. So do keys and factors
 * where the address had not been verified: their maker may not be the reader of its mails. Imported keys are left: no
 * visitor made them here. The holder of the link may log in from there, no matter what others guess.
 * @throws ApiError invalid_token, the codes of `checkNewPassword`, overloaded.
 */
export const resetPassword = (db: Db, sent: NewPassword): Promise<SetByLink> =>
  setByLink(db, sent, {
    find: (trx) => findToken(trx, 'reset', sent.token),
    spend: async (trx) => {
      await spendToken(trx, 'reset', sent.token)
    },
    endsKeys: (user) => user.email_verified_at === null,
    sparesImported: true,
  })

/** What can use an account besides its password, and whose it is. */
export type Access = { email: string; keys: number; sessions: number }

/**
 * What can use the account of somebody who has just proved its address, by the link that did or the one that was
 * mailed after it. Spends nothing. @throws ApiError invalid_token.
 */
export async function accessBy(db: Db, token: string): Promise<Access> {
  const userId = await findAccessToken(db, token)
  const user = userId && (await findUser(db, userId))
  if (!user) throw new ApiError('invalid_token')
  return { email: user.email, ...(await accessTo(db, userId)) }
}

/** How many keys and sessions a user has, for all accounts that they may act for. @param except a session's token */
export const accessTo = async (db: Db | Trx, userId: UserId, except?: string): Promise<Omit<Access, 'email'>> => ({
  keys: await countValidKeys(db, userId),
  sessions: await countSessions(db, userId, except),
})

/**
 * Ends all keys, sessions and factors of an account by the same links as `accessBy`, which end with it, and sets a new
 * password.
 * @throws ApiError invalid_token, the codes of `checkNewPassword`, overloaded.
 */
export const closeAccess = (db: Db, sent: NewPassword): Promise<SetByLink> =>
  setByLink(db, sent, {
    find: (trx) => findAccessToken(trx, sent.token),
    spend: spendAccessTokens,
    endsKeys: () => true,
    sparesImported: false,
  })

/** `spend` is called while the link is good and its user's row locked. */
type PasswordLink = {
  find: (db: Db | Trx) => Promise<UserId | null>
  spend: (trx: Trx, userId: UserId) => Promise<void>
  endsKeys: (user: UserFields) => boolean
  sparesImported: boolean
}

/** The link is looked up first: an invalid one costs no hash, and a weak password does not use it up. */
async function setByLink(
  db: Db,
  { newPassword, address, network, endFactors }: NewPassword,
  { find, spend, endsKeys, sparesImported }: PasswordLink,
): Promise<SetByLink> {
  const userId = await find(db)
  if (!userId) throw new ApiError('invalid_token')
  const password = checkNewPassword(newPassword)
  const passwordHash = await withHashing({ address, known: true }, () => hashPassword(password))
  return db.transaction(async (trx) => {
    const user = await lockUser(trx, userId)
    if (!user || (await find(trx)) !== userId) throw new ApiError('invalid_token')
    await spend(trx, userId)
    await setPasswordHash(trx, userId, passwordHash)
    await endSessions(trx, userId)
    await rememberNetwork(trx, userId, network)
    const accountId = (await findUser(trx, userId))!.account_id
    if (!endsKeys(user)) return { accountId, keys: 0 }
    await endFactors(trx, userId)
    return { accountId, keys: await revokeKeysOfUser(trx, userId, sparesImported) }
  })
}
