/**
 * Links by which an operator lets somebody in whose provider is gone: once, within 15 minutes, in any browser. They
 * stand for the password: a second factor is asked for.
 */
import { createHash, randomBytes } from 'node:crypto'
import { recordAction } from '../action-log/actions.ts'
import type { Operator } from '../action-log/actions.ts'
import type { UserRow } from '../identity/users.ts'
import type { UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'

const LIFE_MINUTES = 15

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Makes a link for a user, in place of the one before. @returns its token, shown this once */
export const makeLoginLink = (
  db: Db,
  operator: Operator,
  { id: userId, account_id: accountId }: Pick<UserRow, 'id' | 'account_id'>,
): Promise<string> =>
  db.transaction(async (trx) => {
    const token = randomBytes(32).toString('base64url')
    await trx('login_links').where({ user_id: userId }).delete()
    await trx('login_links').insert({
      token_hash: hashOf(token),
      user_id: userId,
      expires_at: trx.raw('now() + make_interval(mins => ?)', [LIFE_MINUTES]),
    })
    await recordAction(trx, operator, 'login_link_made', accountId)
    return token
  })

/** Spends the token of a link. @returns whose it was; null for any other text */
export async function spendLoginLink(trx: Trx, token: string): Promise<UserId | null> {
  const [spent] = await trx('login_links')
    .where({ token_hash: hashOf(token) })
    .where('expires_at', '>', trx.fn.now())
    .delete()
    .returning<{ user_id: UserId }[]>('user_id')
  return spent?.user_id ?? null
}

/** Ends the links of a user. */
export const deleteLoginLinks = async (trx: Trx, userId: UserId): Promise<void> => {
  await trx('login_links').where({ user_id: userId }).delete()
}
