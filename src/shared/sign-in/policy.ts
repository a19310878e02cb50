/** Who must have a second factor (SECOND_FACTOR), and what is advised. */
import type { SecondFactorPolicy } from '../identity/sessions.ts'
import { roleOf } from '../identity/users.ts'
import type { UserId } from '../platform/ids.ts'
import type { Db } from '../platform/postgres/db.ts'

/** Whether a user must have one. */
export const isRequiredOf = async (db: Db, userId: UserId, policy: SecondFactorPolicy): Promise<boolean> =>
  policy === 'all' || (policy === 'operators' && (await roleOf(db, userId)) === 'admin')

/** What operators are advised where nobody must have one. */
export const factorAdvice = ({ SECOND_FACTOR }: { SECOND_FACTOR: SecondFactorPolicy }): string[] =>
  SECOND_FACTOR === 'optional'
    ? ['Operators may sign in with a password alone. Set SECOND_FACTOR=operators to require a second factor of them.']
    : []
