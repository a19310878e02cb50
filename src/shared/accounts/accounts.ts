/**
 * Accounts: who pays. The credits in their rows are moved by the ledger and the calls alone.
 */
import type { Trx } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { endSessionsOfAccount } from '../users/sessions.ts'

export type AccountStatus = 'active' | 'suspended'

/** Opens an account without credits. */
export async function openAccount(trx: Trx, id: AccountId): Promise<void> {
  await trx('accounts').insert({ id })
}

/**
 * Suspends or activates an account; false when there is none. Suspending ends the sessions that act for it; its keys
 * obey at their next request.
 */
export async function setStatus(trx: Trx, id: AccountId, status: AccountStatus): Promise<boolean> {
  const found = (await trx('accounts').where({ id }).update({ status })) === 1
  if (status === 'suspended') await endSessionsOfAccount(trx, id)
  return found
}
