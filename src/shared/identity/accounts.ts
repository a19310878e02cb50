/** Accounts: who pays. The credits in their rows are moved by the ledger and the calls alone. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { boundedSum } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { endSessionsOfAccount } from './sessions.ts'

/** A suspended account can neither log in nor call. */
export type AccountStatus = 'active' | 'suspended'

/** `personal`: of one person. `organisation`: may have members, and has a name. */
export type AccountKind = 'personal' | 'organisation'

/** Opens an account without credits. */
export async function openAccount(
  trx: Trx,
  id: AccountId,
  { kind, name }: { kind: AccountKind; name: string } = { kind: 'personal', name: '' },
): Promise<void> {
  await trx('accounts').insert({ id, kind, name })
}

/**
 * Suspends or activates an account; false when there is none, or it was deleted. Suspending ends the sessions that act
 * for it, and all of a person whose own account it is, who cannot log in any more; its keys obey at their next request.
 */
export async function setStatus(trx: Trx, id: AccountId, status: AccountStatus): Promise<boolean> {
  const found = (await trx('accounts').where({ id }).whereNull('deleted_at').update({ status })) === 1
  if (status === 'suspended') await endSessionsOfAccount(trx, id)
  return found
}

/** What decides whether an account may be deleted: credits, calls that have not ended, and whether it was before. */
export type Deletable = { kind: AccountKind; credits: number; debt: number; running: number; isDeleted: boolean }

/**
 * Reads an account and locks its row until the transaction ends: no call is opened meanwhile.
 * @param others accounts whose rows are locked with it, in one order.
 */
export async function lockToDelete(trx: Trx, id: AccountId, others: readonly AccountId[] = []): Promise<Deletable> {
  const { rows } = await trx.raw<{ rows: (Deletable & { id: AccountId })[] }>(
    `
    SELECT id, kind, credits, debt, outstanding_calls AS running, deleted_at IS NOT NULL AS "isDeleted"
    FROM accounts WHERE id = ANY (?) ORDER BY id FOR UPDATE`,
    [[id, ...others]],
  )
  return rows.find((row) => row.id === id)!
}

/** Marks an account as deleted. The row must be locked. Its media results are removed by the reconciler. */
export async function markDeleted(trx: Trx, id: AccountId): Promise<void> {
  await trx('accounts')
    .where({ id })
    .update({ status: 'suspended', name: '', deleted_at: trx.fn.now(), group_name: null })
  await endSessionsOfAccount(trx, id)
}

/** Deleted accounts whose media results have not been removed yet. */
export const accountsToEmpty = async (db: Db, limit: number): Promise<AccountId[]> =>
  db('accounts')
    .whereNotNull('deleted_at')
    .whereNull('emptied_at')
    .orderBy('deleted_at')
    .limit(limit)
    .pluck<AccountId[]>('id')

/** Notes that the media results of a deleted account are gone. */
export async function markEmptied(db: Db, id: AccountId): Promise<void> {
  await db('accounts').where({ id }).whereNotNull('deleted_at').update({ emptied_at: db.fn.now() })
}

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
