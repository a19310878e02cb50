/**
 * Changes the limits of a key, under the lock of the account's row, as every charge: a call is judged by the limits
 * before a change or by those after it.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, KeyId } from '../platform/ids.ts'
import { UNCOUNTED_TOKENS } from './account-limits.ts'
import type { Modality } from '../terms/kinds.ts'
import type { Budget } from './budgets.ts'
import { setBudget } from './budgets.ts'
import type { Seen } from './members.ts'
import { ownedBy } from './members.ts'
import type { ApiKey } from './shown-key.ts'
import { findKey } from './shown-key.ts'

/** What may be set of a key; null lifts a limit, what is absent stays. */
export type KeyChanges = {
  name?: string | undefined
  models?: string[] | null | undefined
  modalities?: Modality[] | null | undefined
  /** As `parseRange` writes them. */
  allowedIps?: string[] | null | undefined
  expiresAt?: Date | null | undefined
  /** Requests a minute. */
  rateLimit?: number | null | undefined
  maxOutstanding?: number | null | undefined
  tokensPerMinute?: number | null | undefined
  budget?: Budget | null | undefined
}

/**
 * Changes a key that is not revoked.
 * @param seen keeps it to these keys.
 * @returns the key as it is then; null if there is none.
 */
export async function changeKey(db: Db | Trx, id: KeyId, changes: KeyChanges, seen?: Seen): Promise<ApiKey | null> {
  return await db.transaction(async (trx) => {
    const accountId = await lockAccountOf(trx, id, seen)
    if (!accountId) return null
    await setLimits(trx, id, accountId, changes)
    return await findKey(trx, id)
  })
}

/** Locks the account of a key that is not revoked. @returns the account; null if there is no such key. */
export async function lockAccountOf(trx: Trx, id: KeyId, seen?: Seen): Promise<AccountId | null> {
  const key = await trx('api_keys')
    .where({ id, ...(seen && ownedBy(seen)) })
    .first<{ account_id: AccountId } | undefined>('account_id')
  if (!key) return null
  await trx('accounts').where({ id: key.account_id }).forNoKeyUpdate().select('id')
  const valid = await trx('api_keys').where({ id }).whereNull('revoked_at').first<{ id: KeyId } | undefined>('id')
  return valid ? key.account_id : null
}

/** Sets the limits of a key whose account is locked. */
export async function setLimits(trx: Trx, id: KeyId, accountId: AccountId, changes: KeyChanges): Promise<void> {
  const columns = columnsOf(changes)
  if (Object.keys(columns).length > 0) await trx('api_keys').where({ id }).update(columns)
  if (changes.budget !== undefined) {
    await setBudget(trx, accountId, { scope: 'key', keyId: id }, changes.budget)
  }
  await trx.raw('SELECT count_key_use(?)', [id])
}

const columnsOf = (changes: KeyChanges): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries({
      name: changes.name,
      models: changes.models,
      modalities: changes.modalities,
      allowed_ips: changes.allowedIps,
      expires_at: changes.expiresAt,
      rate_limit: changes.rateLimit,
      max_outstanding: changes.maxOutstanding,
      tokens_per_minute: changes.tokensPerMinute,
      // Without a limit they are not counted.
      outstanding_calls: changes.maxOutstanding === null ? 0 : undefined,
      ...(changes.tokensPerMinute === null && UNCOUNTED_TOKENS),
    }).filter(([, value]) => value !== undefined),
  )
