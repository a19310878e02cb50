/**
 * Looks: that an operator saw what is an account's own is recorded, once a view and not once a request.
 */
import { ownerOf } from '../accounts/members.ts'
import { firstIdAt } from '../platform/ids.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { lockUser } from '../users/users.ts'
import type { ActionDetails } from './actions.ts'
import { recordAction } from './actions.ts'

/** Requests about one account, or for one list, within this time are one look, in minutes. */
const LOOK_MINUTES = 10

/** How far the clock of who makes the ids of actions may be from the database's. */
const CLOCKS_MS = 3_600_000

/** What was looked at: one account, or a list of several, by its path and its filter. */
export type Look = { accountId: AccountId; list?: undefined } | { accountId: null; list: ActionDetails }

/** Records that an operator looks at accounts, unless they have begun to within the last minutes. */
export async function noteLook(db: Db, operator: UserId, look: Look): Promise<void> {
  if (await isLooking(db, operator, look)) return
  await db.transaction(async (trx) => {
    // A page asks for several things at once.
    await lockUser(trx, operator)
    if (await isLooking(trx, operator, look)) return
    // A filter may name an account that is not there.
    if (look.accountId !== null && !(await ownerOf(trx, look.accountId))) return
    await recordAction(trx, operator, 'account_viewed', look.accountId, look.list)
  })
}

const isLooking = async (db: Db | Trx, operator: UserId, { accountId, list = {} }: Look): Promise<boolean> =>
  (await db('operator_actions')
    .where({ account_id: accountId, operator_id: operator, action: 'account_viewed' })
    .whereRaw('details = ?::jsonb', [JSON.stringify(list)])
    .where('id', '>', firstIdAt('action', Date.now() - LOOK_MINUTES * 60_000 - CLOCKS_MS))
    .whereRaw('created_at > now() - make_interval(mins => ?)', [LOOK_MINUTES])
    .first('id')) !== undefined
