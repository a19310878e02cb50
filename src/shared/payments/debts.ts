/** What accounts owe, for operators. */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { forgiveDebt } from '../ledger/ledger.ts'
import { recordAction } from '../action-log/actions.ts'
import { refuseOwnAccount } from '../action-log/own-account.ts'

/** An account that owes credits: its owner's address, and the name of an organisation, else empty. */
export type Debtor = { accountId: string; email: string; name: string; debt: number }

/** At most `limit` accounts that owe credits, the largest debts first. */
export async function listDebtors(db: Db, limit: number): Promise<Debtor[]> {
  const rows = await db('accounts')
    .join('members', (on) => on.on('members.account_id', 'accounts.id').andOnVal('members.role', 'owner'))
    .join('users', 'users.id', 'members.user_id')
    .where('accounts.debt', '>', 0)
    .orderBy('accounts.debt', 'desc')
    .limit(limit)
    .select<(Omit<Debtor, 'accountId'> & { id: AccountId })[]>(
      'accounts.id',
      'users.email',
      'accounts.name',
      'accounts.debt',
    )
  return rows.map(({ id, ...row }) => ({ ...row, accountId: publicId('account', id) }))
}

/** Lets an account's debt go. @returns how much it was. @throws ApiError forbidden for one's own account. */
export const forgive = async (db: Db, operator: UserId | null, accountId: AccountId): Promise<number> =>
  db.transaction(async (trx) => {
    await refuseOwnAccount(trx, operator, accountId)
    const credits = await forgiveDebt(trx, accountId, newId('action'))
    if (credits > 0) await recordAction(trx, operator, 'debt_forgiven', accountId, { credits })
    return credits
  })
