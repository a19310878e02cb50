/** Links by which operators hand an account without a login to its owner. */
import { recordAction } from '../action-log/actions.ts'
import type { Operator } from '../action-log/actions.ts'
import { makeClaim } from '../identity/claims.ts'
import type { UserRow } from '../identity/users.ts'
import type { Db } from '../platform/postgres/db.ts'

/** Makes the link that claims an account. @returns its token, shown this once; null if its owner has a login */
export const makeClaimLink = (
  db: Db,
  operator: Operator,
  { id, account_id: accountId }: Pick<UserRow, 'id' | 'account_id'>,
): Promise<string | null> =>
  db.transaction(async (trx) => {
    const token = await makeClaim(trx, id)
    if (token !== null) await recordAction(trx, operator, 'claim_link_made', accountId)
    return token
  })
