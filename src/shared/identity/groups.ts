/** Which group of the catalogue an account is served in (docs/pricing.md#groups). */
import type { AccountId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'

/**
 * Puts an account into a group, or takes it out of any (null): its next call is priced by that.
 * @returns false if there is no account, or it was deleted
 */
export const setGroup = async (trx: Trx, id: AccountId, group: string | null): Promise<boolean> =>
  (await trx('accounts').where({ id }).whereNull('deleted_at').update({ group_name: group })) === 1

/** The groups of accounts that are none of these, in their order, with their number of accounts. */
export async function groupsBeyond(
  db: Db | Trx,
  names: readonly string[],
): Promise<{ name: string; accounts: number }[]> {
  const { rows } = await db.raw<{ rows: { name: string; accounts: number }[] }>(
    `
    SELECT group_name AS name, count(*) AS accounts FROM accounts
    WHERE group_name IS NOT NULL AND group_name <> ALL (?::text[]) GROUP BY group_name ORDER BY group_name`,
    [[...names]],
  )
  return rows
}
