/**
 * What gives an account credits or money needs an operator whose account it is not. The command line, which asks nobody
 * who they are, may do it and is recorded.
 */
import type { AccountId } from '../ids.ts'
import { ApiError } from '../errors.ts'
import type { Trx } from '../infra/db.ts'
import type { Operator } from './actions.ts'

/**
 * Refuses an operator who acts for this account, in the transaction of what they want to do.
 * @throws ApiError forbidden.
 */
export async function refuseOwnAccount(trx: Trx, operator: Operator, accountId: AccountId): Promise<void> {
  if (operator === null) return
  const own = await trx('members').where({ user_id: operator, account_id: accountId }).first('user_id')
  if (own) {
    const message = 'This is your own account: another operator has to do that.'
    throw new ApiError('forbidden', { message })
  }
}
