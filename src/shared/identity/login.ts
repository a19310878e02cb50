/**
 * Login. Neither the answer nor its timing shows whether an account exists: the same queries are made for every
 * address, guesses are counted for every address, and one without an account costs the same hash.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { parseEmail } from '../terms/emails.ts'
import { withHashing } from './hashing-gate.ts'
import type { NetworkHash } from './login-networks.ts'
import { isLoginNetwork, rememberNetwork } from './login-networks.ts'
import { verifyPassword } from './passwords.ts'
import type { Device, OpenedSession } from './sessions.ts'
import { openSession } from './sessions.ts'
import type { UserRow } from './users.ts'
import { findMember, findUserByEmail } from './users.ts'

/** A login that was refused for a known account names it, for the log alone. */
export type RefusedLogin = { refusal: 'invalid_credentials' | 'account_suspended'; accountId: AccountId | null }

/** Any texts: one that is not an address belongs to no account. `network`: the one that `device` is in. */
export type Credentials = { email: string; password: string; device: Device; network: NetworkHash }

/**
 * Counts guesses at the password of an address, whether it has an account or not: after some failures there is a pause
 * that grows. `address` is the text that was sent as one.
 */
export type Guesses = {
  /** @throws ApiError rate_limited, with `Retry-After`, during a pause. */
  refusePaused: (address: string) => Promise<void>
  /** Counts a guess as a failure, before it is known to be one. @throws ApiError rate_limited during a pause. */
  count: (address: string, client: string) => Promise<void>
  /** Forgets the failures: the password was right. */
  forget: (address: string) => Promise<void>
}

/**
 * Opens a session for the right password of an active account. A suspended account gets that answer for any password
 * (docs/accounts-and-mail.md#passwords-and-logins). From a network that has logged in to the account before, guesses
 * are not counted here.
 * @throws ApiError overloaded; rate_limited, decided without the password.
 */
export async function logIn(
  db: Db,
  guesses: Guesses,
  { email, password, device, network }: Credentials,
): Promise<(OpenedSession & { user: UserRow }) | RefusedLogin> {
  const address = parseEmail(email)
  const guessed = address ?? email
  const known = await isLoginNetwork(db, address ?? '', network)
  if (!known) await guesses.refusePaused(guessed)
  const { user, right } = await withHashing({ address: device.ip, known }, async () => {
    if (!known) await guesses.count(guessed, device.ip)
    const found = address === null ? null : await findUserByEmail(db, address)
    return { user: found, right: await verifyPassword(found?.password_hash ?? null, password) }
  })
  if (user?.status === 'suspended') return { refusal: 'account_suspended', accountId: user.account_id }
  if (!user || !right) return { refusal: 'invalid_credentials', accountId: user?.account_id ?? null }
  const member = { userId: user.id, accountId: user.account_id }
  const session = await openSession(db, { ...device, ...member, passwordHash: user.password_hash })
  if (session) {
    await rememberNetwork(db, user.id, network)
    if (!known) await guesses.forget(guessed)
    return { ...session, user }
  }
  // The account changed since it was looked up: suspended, or another password.
  const now = await findMember(db, member)
  return {
    refusal: now?.status === 'suspended' ? 'account_suspended' : 'invalid_credentials',
    accountId: user.account_id,
  }
}
