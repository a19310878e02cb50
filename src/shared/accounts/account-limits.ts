/**
 * What an account is held to: its own limits, which operators set, else those of the house.
 */
import type { Config } from '../platform/config/config.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'

/**
 * The limits that an account has of its own; null: none of this kind. `rateLimit`: requests a minute. `maxOutstanding`:
 * calls that have not ended. `tokensPerMinute`: tokens of its calls in a window of a minute.
 */
export type OwnLimits = {
  rateLimit: number | null
  maxOutstanding: number | null
  tokensPerMinute: number | null
}

/** What may be set of them; null lifts a limit, what is absent stays. */
export type LimitChanges = { [Name in keyof OwnLimits]?: number | null | undefined }

/** The limits of accounts that have none of their own. */
export type HouseLimits = Pick<Config, 'GATEWAY_RATE_LIMIT' | 'MAX_OUTSTANDING_CALLS'>

/** The limits that hold for an account, of those that every account has: the first that is set. */
export const limitsOf = (
  own: Pick<OwnLimits, 'rateLimit' | 'maxOutstanding'>,
  house: HouseLimits,
): { rateLimit: number; maxOutstanding: number } => ({
  rateLimit: own.rateLimit ?? house.GATEWAY_RATE_LIMIT,
  maxOutstanding: own.maxOutstanding ?? house.MAX_OUTSTANDING_CALLS,
})

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

/** The most requests a minute that a key of an account may be limited to. */
export async function mostRequests(db: Db | Trx, id: AccountId, house: HouseLimits): Promise<number> {
  const own = await ownLimits(db, id)
  return limitsOf(own ?? { rateLimit: null, maxOutstanding: null }, house).rateLimit
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

/** The columns of an account or a key whose tokens are not limited: they are not counted. */
export const UNCOUNTED_TOKENS = { token_window_at: null, token_window_used: 0 } as const
