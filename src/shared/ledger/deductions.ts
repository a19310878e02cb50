/** Deductions: credits that operators take back (docs/money.md#deductions). */
import type { Trx } from '../platform/postgres/db.ts'
import type { AccountId, DeductionId } from '../platform/ids.ts'

/**
 * What to take. `mayOwe`: what cannot be spent any more becomes debt, and is not refused. `key` is the client's name
 * for the request: with the same key, amount and reason nothing is taken again.
 */
export type NewDeduction = {
  id: DeductionId
  accountId: AccountId
  amount: number
  mayOwe: boolean
  reason: string
  key: string | null
}

/** What became of it. `taken` and `owed` add up to the amount; `balance` is that after it. */
export type Deducted =
  | { is: 'deducted' | 'repeated'; id: DeductionId; taken: number; owed: number; balance: number }
  | { is: 'too_little'; spendable: number }
  | { is: 'conflict' }

type Row = {
  outcome: Deducted['is']
  deduction: DeductionId | null
  taken: number
  left_owing: number
  balance: number
  spendable: number
}

/** Takes credits in the caller's transaction. @returns null if there is no such account. */
export async function deduct(trx: Trx, wanted: NewDeduction): Promise<Deducted | null> {
  const { rows } = await trx.raw<{ rows: Row[] }>(
    'SELECT * FROM deduct_credits(:id, :accountId, :amount, :mayOwe, :reason, :key)',
    wanted,
  )
  const row = rows[0]
  if (!row) return null
  if (row.outcome === 'too_little') return { is: 'too_little', spendable: row.spendable }
  if (row.outcome === 'conflict') return { is: 'conflict' }
  return { is: row.outcome, id: row.deduction!, taken: row.taken, owed: row.left_owing, balance: row.balance }
}
