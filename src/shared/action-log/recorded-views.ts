/** Records that an operator has viewed an account's data, once a view and not once a request. */
import { ownerOf } from '../identity/members.ts'
import { CLOCKS_MS, firstIdAt } from '../platform/ids.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { lockUser } from '../identity/users.ts'
import type { ActionDetails } from './actions.ts'
import { recordAction } from './actions.ts'

/** Requests about one account, or for one list, within this time are one view, in minutes. */
const VIEW_MINUTES = 10

/** What was viewed: one account, or a list of several, by its path and its filter. */
export type View = { accountId: AccountId; list?: undefined } | { accountId: null; list: ActionDetails }

/** Records that an operator views accounts, unless they have begun to within the last minutes. */
export async function recordView(db: Db, operator: UserId, view: View): Promise<void> {
  if (await isViewing(db, operator, view)) return
  await db.transaction(async (trx) => {
    // A page asks for several things at once.
    await lockUser(trx, operator)
    if (await isViewing(trx, operator, view)) return
    // A filter may name an account that is not there.
    if (view.accountId !== null && !(await ownerOf(trx, view.accountId))) return
    await recordAction(trx, operator, 'account_viewed', view.accountId, view.list)
  })
}

const isViewing = async (db: Db | Trx, operator: UserId, { accountId, list = {} }: View): Promise<boolean> =>
  (await db('operator_actions')
    .where({ account_id: accountId, operator_id: operator, action: 'account_viewed' })
    .whereRaw('details = ?::jsonb', [JSON.stringify(list)])
    .where('id', '>', firstIdAt('action', Date.now() - VIEW_MINUTES * 60_000 - CLOCKS_MS))
    .whereRaw('created_at > now() - make_interval(mins => ?)', [VIEW_MINUTES])
    .first('id')) !== undefined
