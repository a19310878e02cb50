/**
 * What gives an account credits or money needs an operator who is no member of it. The command line, which asks nobody
 * who they are, may do it and is recorded.
 */
import { roleIn } from '../identity/members.ts'
import type { AccountId, CodeId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import { ApiError } from '../platform/errors.ts'
import type { Trx } from '../platform/postgres/db.ts'
import type { Operator } from './actions.ts'

/**
 * Refuses an operator who acts for this account, in the transaction of what they want to do.
 * @throws ApiError forbidden.
 */
export async function refuseOwnAccount(trx: Trx, operator: Operator, accountId: AccountId): Promise<void> {
  if (operator === null) return
  if ((await roleIn(trx, { userId: operator, accountId })) === null) return
  throw new ApiError('forbidden', { message: 'This is your own account: another operator has to do that.' })
}

/** An operator's code is for others: it would be a grant to their own account. @throws ApiError forbidden. */
export async function refuseOwnCode(trx: Trx, accountId: AccountId, id: CodeId): Promise<void> {
  const made = await trx('operator_actions')
    .where({ action: 'code_created' })
    .whereIn('operator_id', trx('members').where({ account_id: accountId }).select('user_id'))
    .whereRaw("details ->> 'code' = ?", [publicId('code', id)])
    .first('id')
  if (made) throw new ApiError('forbidden', { message: 'You made this code: it is for other accounts.' })
}
