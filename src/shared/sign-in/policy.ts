/** Who must have a second factor (SECOND_FACTOR), and what is advised. */
import type { SecondFactorPolicy } from '../identity/sessions.ts'
import { roleOf } from '../identity/users.ts'
import type { Config } from '../platform/config/config.ts'
import type { UserId } from '../platform/ids.ts'
import type { Db } from '../platform/postgres/db.ts'
import { countOfOtherHosts, siteOf } from './passkeys.ts'

/** Whether a user must have one. */
export const isRequiredOf = async (db: Db, userId: UserId, policy: SecondFactorPolicy): Promise<boolean> =>
  policy === 'all' || (policy === 'operators' && (await roleOf(db, userId)) === 'admin')

/** What operators are advised where nobody must have one. */
export const factorAdvice = ({ SECOND_FACTOR }: { SECOND_FACTOR: SecondFactorPolicy }): string[] =>
  SECOND_FACTOR === 'optional'
    ? ['Operators may sign in with a password alone. Set SECOND_FACTOR=operators to require a second factor of them.']
    : []

/** What operators are advised about ways to sign in that are of no use: nobody can come in, or not by their passkey. */
export async function signInAdvice(
  db: Db,
  config: Pick<Config, 'BASE_URL' | 'PASSWORDS' | 'SIGNIN_PROVIDERS'>,
): Promise<string[]> {
  const site = siteOf(config)
  const lost = await countOfOtherHosts(db, site)
  return [
    ...(config.PASSWORDS === 'off' && config.SIGNIN_PROVIDERS === undefined
      ? ['PASSWORDS is off and there is no SIGNIN_PROVIDERS: only passkeys and admin login-link sign people in.']
      : []),
    ...(lost > 0
      ? [`${lost} passkeys belong to another host than ${site.host}, that of BASE_URL: they sign nobody in.`]
      : []),
  ]
}
