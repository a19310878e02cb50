/**
 * Identities: who users are at providers. One is found by issuer and subject, never by an address, and belongs to one
 * user. All changes are made under the lock of the user's row, and are mailed and recorded in the transaction that
 * makes them.
 */
import type { Config } from '../platform/config/config.ts'
import { ApiError } from '../platform/errors.ts'
import type { IdentityId, MailId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { deleteTickets } from '../identity/tickets.ts'
import { hasPassword } from '../identity/users.ts'
import type { UserFields } from '../identity/users.ts'
import type { Whose } from './changes.ts'
import { lockOwner, note } from './changes.ts'
import { deleteFactors, factorsOf } from './factors.ts'
import { deleteLoginLinks } from './login-links.ts'
import type { Provider } from './providers.ts'

/** Who somebody is: what their issuer calls them. */
export type Subject = { issuer: string; subject: string }

/** An identity as its owner sees it. `provider`, `label`: null if it is not configured any more. Times are ISO 8601. */
export type Identity = {
  id: string
  provider: string | null
  label: string | null
  email: string | null
  createdAt: string
  lastUsedAt: string | null
}

/** Whose identity it is; null if nobody's. */
export const holderOf = async (db: Db | Trx, { issuer, subject }: Subject): Promise<UserId | null> =>
  (await db('identities').where({ issuer, subject }).first<{ user_id: UserId } | undefined>('user_id'))?.user_id ?? null

/** Links an identity to a user, whose row must be locked. @throws ApiError identity_taken if it is somebody's. */
export async function linkIdentity(
  trx: Trx,
  user: UserFields,
  { issuer, subject, email }: Subject & { email: string | null },
): Promise<MailId> {
  const linked = await trx('identities')
    .insert({ id: newId('identity'), user_id: user.id, issuer, subject, email, last_used_at: trx.fn.now() })
    .onConflict(['issuer', 'subject'])
    .ignore()
    .returning('id')
  if (linked.length === 0) throw new ApiError('identity_taken')
  return note(trx, 'identity_linked', user)
}

/** Notes the use of an identity. */
export const noteIdentity = async (trx: Trx, { issuer, subject }: Subject): Promise<void> => {
  await trx('identities').where({ issuer, subject }).update({ last_used_at: trx.fn.now() })
}

type Row = {
  id: IdentityId
  issuer: string
  email: string | null
  created_at: Date
  last_used_at: Date | null
}

/** The identities of a user, newest first. */
export async function listIdentities(
  db: Db,
  userId: UserId,
  providers: readonly Pick<Provider, 'id' | 'label' | 'issuer'>[],
): Promise<Identity[]> {
  const rows = await db('identities')
    .where({ user_id: userId })
    .orderBy('id', 'desc')
    .select<Row[]>('id', 'issuer', 'email', 'created_at', 'last_used_at')
  return rows.map((row) => {
    const provider = providers.find(({ issuer }) => issuer === row.issuer)
    return {
      id: publicId('identity', row.id),
      provider: provider?.id ?? null,
      label: provider?.label ?? null,
      email: row.email,
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at?.toISOString() ?? null,
    }
  })
}

/** The issuer at which a user has signed in last, of these; null if at none of them. */
export const lastIssuerOf = async (db: Db, userId: UserId, issuers: readonly string[]): Promise<string | null> =>
  (
    await db('identities')
      .where({ user_id: userId })
      .whereIn('issuer', issuers)
      .orderByRaw('last_used_at DESC NULLS LAST')
      .first<{ issuer: string } | undefined>('issuer')
  )?.issuer ?? null

/** How people can sign in here: whether by passwords, and at which issuers. */
export type Ways = { passwords: boolean; issuers: readonly string[] }

/** The ways of a configuration. */
export const waysOf = ({ PASSWORDS }: Pick<Config, 'PASSWORDS'>, providers: Iterable<Provider>): Ways => ({
  passwords: PASSWORDS === 'on',
  issuers: Array.from(providers, ({ issuer }) => issuer),
})

/**
 * Refuses what has taken away the last way in of a user: what was done in this transaction is undone by it.
 * @throws ApiError last_sign_in.
 */
export async function requireWayIn(trx: Trx, userId: UserId, { passwords, issuers }: Ways): Promise<void> {
  if (passwords && (await hasPassword(trx, userId))) return
  if ((await factorsOf(trx, userId)).passkeys > 0) return
  if (await trx('identities').where({ user_id: userId }).whereIn('issuer', issuers).first('id')) return
  throw new ApiError('last_sign_in')
}

/** Unlinks an identity; logins that wait for their second step end. @throws ApiError not_found; last_sign_in. */
export const removeIdentity = (db: Db, whose: Whose, id: IdentityId, ways: Ways): Promise<MailId> =>
  db.transaction(async (trx) => {
    const user = await lockOwner(trx, whose)
    if ((await trx('identities').where({ id, user_id: user.id }).delete()) !== 1) throw new ApiError('not_found')
    await requireWayIn(trx, user.id, ways)
    await deleteTickets(trx, user.id)
    return note(trx, 'identity_removed', user)
  })

/**
 * Ends everything that a user signs in with but the password: of somebody who takes over an address that was never
 * verified, all of it may be somebody else's.
 */
export async function endOtherWays(trx: Trx, userId: UserId): Promise<void> {
  await deleteFactors(trx, userId)
  await deleteLoginLinks(trx, userId)
  await trx('identities').where({ user_id: userId }).delete()
}
