/** All accounts together, for operators. */
import type { Db } from '../platform/postgres/db.ts'
import { boundedSum } from '../platform/postgres/db.ts'

/** `outstanding`: credits that can still be spent or expire. `owed`: the debts. `opened`: in the last 24 hours. */
export type Totals = { accounts: number; opened: number; outstanding: number; owed: number }

/**
 * Adds up all accounts: 100,000 take about 50 ms. An index of the balances would be cheaper to read, but cost every
 * call a write.
 */
export async function totalsOfAccounts(db: Db): Promise<Totals> {
  const { rows } = await db.raw<{ rows: Totals[] }>(`
    SELECT count(*) FILTER (WHERE deleted_at IS NULL) AS accounts,
      count(*) FILTER (WHERE created_at > now() - interval '24 hours') AS opened,
      ${boundedSum('credits')} AS outstanding, ${boundedSum('debt')} AS owed
    FROM accounts`)
  return rows[0]!
}
