/** What an account is held to of its own: limits which operators set. What holds in the end is `effectiveLimits`. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, KeyId } from '../platform/ids.ts'
import { holderOfKey } from './api-keys.ts'
import { UNCOUNTED_TOKENS } from './token-allowance.ts'

/**
 * The limits that an account has of its own; null: none of this kind. `rateLimit`: requests a minute. `maxOutstanding`:
 * calls that have not ended. `tokensPerMinute`: tokens of its calls in a window of a minute.
 */
export type OwnLimits = { rateLimit: number | null; maxOutstanding: number | null; tokensPerMinute: number | null }

/** What may be set of them; null lifts a limit, what is absent stays. */
export type LimitChanges = { [Name in keyof OwnLimits]?: number | null | undefined }

/** What decides the limits of an account (`effectiveLimits`): its own, and its group of the catalogue. */
export type Standing = {
  /** What it has of its own, of the limits that every account has. */
  accountLimits: Pick<OwnLimits, 'rateLimit' | 'maxOutstanding'>
  /** The group of the catalogue that it is served in; null: none. A charge checks it again. */
  group: string | null
}

/** The columns of an account's own limits. */
export const LIMIT_COLUMNS = ['rate_limit', 'max_outstanding', 'tokens_per_minute'] as const

/** A row of these columns. */
export type LimitRow = Record<(typeof LIMIT_COLUMNS)[number], number | null>

/** The limits of a row. */
export const presentLimits = (row: LimitRow): OwnLimits => ({
  rateLimit: row.rate_limit,
  maxOutstanding: row.max_outstanding,
  tokensPerMinute: row.tokens_per_minute,
})

/** An account's own limits; null if there is none. */
export async function ownLimits(db: Db | Trx, id: AccountId): Promise<OwnLimits | null> {
  const row = await db('accounts')
    .where({ id })
    .first<LimitRow | undefined>(...LIMIT_COLUMNS)
  return row ? presentLimits(row) : null
}

/** What decides the limits of an account; null if there is none. */
export async function standingOf(db: Db | Trx, id: AccountId): Promise<Standing | null> {
  const row = await db('accounts')
    .where({ id })
    .first<(LimitRow & { group_name: string | null }) | undefined>(...LIMIT_COLUMNS, 'group_name')
  return row ? { accountLimits: presentLimits(row), group: row.group_name } : null
}

/** What decides the limits of the account of a key; null if there is no such key. */
export async function standingOfKey(db: Db | Trx, id: KeyId): Promise<Standing | null> {
  const holder = await holderOfKey(db, id)
  return holder && standingOf(db, holder.accountId)
}

/**
 * Sets limits of an account, under the lock of its row, as every charge. They hold from the next request on.
 * @returns the limits as they are then; null if there is no such account, or it was deleted.
 */
export async function setLimitsOf(trx: Trx, id: AccountId, changes: LimitChanges): Promise<OwnLimits | null> {
  const columns = Object.entries({
    rate_limit: changes.rateLimit,
    max_outstanding: changes.maxOutstanding,
    tokens_per_minute: changes.tokensPerMinute,
    ...(changes.tokensPerMinute === null && UNCOUNTED_TOKENS),
  }).filter(([, value]) => value !== undefined)
  if (columns.length === 0) return ownLimits(trx, id)
  const [row] = await trx('accounts')
    .where({ id })
    .whereNull('deleted_at')
    .update(Object.fromEntries(columns))
    .returning<LimitRow[]>([...LIMIT_COLUMNS])
  return row ? presentLimits(row) : null
}
