/**
 * Changing the limits of a key. Whoever does holds the account's row, as every charge does: a call is judged by the
 * limits before a change or by those after it. What the key used before is counted first, without that row: it may be
 * millions of calls, and nobody's charges wait for them.
 */
import type { Db, Trx } from '../infra/db.ts'
import type { AccountId, KeyId } from '../ids.ts'
import { newId } from '../ids.ts'
import type { Modality } from '../calls/lifecycle.ts'
import type { ApiKey, Period } from './shown-key.ts'
import { findKey } from './shown-key.ts'

/** How many credits the calls of a key may cost in a period; 0 allows nothing. */
export type Budget = { credits: number; period: Period }

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
  budget?: Budget | null | undefined
}

/**
 * Changes a key that is not revoked.
 * @param accountId keeps it to the keys of that account.
 * @returns the key as it is then; null if there is none.
 */
export async function changeKey(
  db: Db | Trx,
  id: KeyId,
  changes: KeyChanges,
  accountId?: AccountId,
): Promise<ApiKey | null> {
  return await db.transaction(async (trx) => {
    if (changes.budget !== undefined) await lockBudgetOf(trx, id)
    const past = changes.budget ? await countPastUse(trx, id, changes.budget, accountId) : null
    const owner = await lockOwner(trx, id, accountId)
    if (!owner) return null
    await setLimits(trx, id, owner, changes, past)
    return await findKey(trx, id)
  })
}

/** Makes those who change the budget of one key wait for each other, and nobody else, until the transaction ends. */
const lockBudgetOf = async (trx: Trx, id: KeyId): Promise<void> => {
  await trx.raw('SELECT pg_advisory_xact_lock(?, hashtext(?))', [BUDGET_LOCK, id])
}

// An arbitrary number, the same in every process: the first of the two keys of an advisory lock on a key's budget.
const BUDGET_LOCK = 7_604_116

/** What a key used before it had a budget, as `past_key_use` counts it. */
type PastUse = { starts_at: string; counted_until: string; used: number; open_calls: string }

/**
 * Counts what a key used so far, without holding its account: calls go on meanwhile, and `setLimits` adds them.
 * @returns null if there is no such key, or its budget has this period already and is counted.
 */
export async function countPastUse(
  trx: Trx,
  id: KeyId,
  { period }: Budget,
  accountId?: AccountId,
): Promise<PastUse | null> {
  // As text: a Date has no microseconds and no -infinity.
  const { rows } = await trx.raw<{ rows: PastUse[] }>(
    `
    SELECT cast(past.starts_at AS text), cast(past.counted_until AS text), past.used, cast(past.open_calls AS text)
    FROM api_keys k, past_key_use(k.id, :period) past
    WHERE k.id = :id AND k.account_id = coalesce(cast(:accountId AS uuid), k.account_id) AND k.revoked_at IS NULL
      AND NOT EXISTS (SELECT FROM budgets b WHERE b.key_id = k.id AND b.period = :period)`,
    { id, period, accountId: accountId ?? null },
  )
  return rows[0] ?? null
}

/** Locks the account of a key that is not revoked. @returns the account; null if there is no such key. */
export async function lockOwner(trx: Trx, id: KeyId, accountId?: AccountId): Promise<AccountId | null> {
  const key = await trx('api_keys')
    .where({ id, ...(accountId && { account_id: accountId }) })
    .first<{ account_id: AccountId } | undefined>('account_id')
  if (!key) return null
  await trx('accounts').where({ id: key.account_id }).forNoKeyUpdate().select('id')
  const valid = await trx('api_keys').where({ id }).whereNull('revoked_at').first<{ id: KeyId } | undefined>('id')
  return valid ? key.account_id : null
}

/**
 * Sets the limits of a key whose account is locked, and counts what they bound.
 * @param past what the key used before; needed only if it is not new.
 */
export async function setLimits(
  trx: Trx,
  id: KeyId,
  accountId: AccountId,
  changes: KeyChanges,
  past: PastUse | null = null,
): Promise<void> {
  const columns = columnsOf(changes)
  if (Object.keys(columns).length > 0) await trx('api_keys').where({ id }).update(columns)
  if (changes.budget !== undefined) await setBudget(trx, id, accountId, changes.budget)
  if (past) {
    await trx.raw('SELECT start_budget_window(?, ?, ?, ?, ?)', [
      id,
      past.starts_at,
      past.counted_until,
      past.used,
      past.open_calls,
    ])
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
      // Without a limit they are not counted.
      outstanding_calls: changes.maxOutstanding === null ? 0 : undefined,
    }).filter(([, value]) => value !== undefined),
  )

/** A budget of another period is another budget: its use is counted again from the key's calls. */
async function setBudget(trx: Trx, id: KeyId, accountId: AccountId, budget: Budget | null): Promise<void> {
  await trx('budgets')
    .where({ key_id: id })
    .modify((query) => {
      if (budget) void query.whereNot({ period: budget.period })
    })
    .delete()
  if (!budget) return
  await trx('budgets')
    .insert({
      id: newId('budget'),
      account_id: accountId,
      scope: 'key',
      key_id: id,
      ...budget,
      created_at: trx.raw('clock_timestamp()'),
    })
    .onConflict('key_id')
    .merge(['credits'])
}
