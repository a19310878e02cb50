/**
 * Login. Neither the answer nor its timing shows whether an account exists: the queue for hashing is entered before
 * any look-up, and an unknown address costs the same hash.
 */
import type { Db } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { parseEmail } from './emails.ts'
import { withHashing, verifyPassword } from './passwords.ts'
import type { Device, OpenedSession } from './sessions.ts'
import { openSession } from './sessions.ts'
import type { UserRow } from './users.ts'
import { findMember, findUserByEmail } from './users.ts'

/** A login that was refused for a known account names it, for the log alone. */
export type RefusedLogin = { refusal: 'invalid_credentials' | 'account_suspended'; accountId: AccountId | null }

/** Any texts: one that is not an address belongs to no account. */
export type Credentials = { email: string; password: string; device: Device }

/**
 * Opens a session for the right password of an active account. A suspended account gets that answer for any password
 * (docs/accounts-and-mail.md#passwords-and-logins).
 * @throws ApiError overloaded.
 */
export async function logIn(
  db: Db,
  { email, password, device }: Credentials,
): Promise<(OpenedSession & { user: UserRow }) | RefusedLogin> {
  const { user, right } = await withHashing(async () => {
    const address = parseEmail(email)
    const found = address === null ? null : await findUserByEmail(db, address)
    return { user: found, right: await verifyPassword(found?.password_hash ?? null, password) }
  })
  if (user?.status === 'suspended') return { refusal: 'account_suspended', accountId: user.account_id }
  if (!user || !right) return { refusal: 'invalid_credentials', accountId: user?.account_id ?? null }
  const member = { userId: user.id, accountId: user.account_id }
  const session = await openSession(db, { ...device, ...member, passwordHash: user.password_hash })
  if (session) return { ...session, user }
  // The account changed since it was looked up: suspended, or another password.
  const now = await findMember(db, member)
  return {
    refusal: now?.status === 'suspended' ? 'account_suspended' : 'invalid_credentials',
    accountId: user.account_id,
  }
}
