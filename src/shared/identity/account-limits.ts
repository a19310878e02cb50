/**
 * The limits of accounts: their own, which operators set, and those of their group of the catalogue
 * (docs/pricing.md#groups). What holds in the end is `effectiveLimits`.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import type { GroupLimits } from '../catalogue/groups.ts'
import type { Config } from '../platform/config/config.ts'
import { z } from 'zod'

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

/** What bounds an account: requests a minute, and calls that have not ended. */
export type EffectiveLimits = { rateLimit: number; maxOutstanding: number }

/**
 * The limits of an account: its own, else its group's, else those of every account.
 * @param groups of the catalogue; one that is not among them is unknown yet, and has none
 */
export function effectiveLimits(
  { accountLimits: own, group: name }: Standing,
  groups: ReadonlyMap<string, GroupLimits>,
  usual: Pick<Config, 'GATEWAY_RATE_LIMIT' | 'MAX_OUTSTANDING_CALLS'>,
): EffectiveLimits {
  const group = name === null ? undefined : groups.get(name)
  return {
    rateLimit: own.rateLimit ?? group?.rateLimit ?? usual.GATEWAY_RATE_LIMIT,
    maxOutstanding: own.maxOutstanding ?? group?.maxOutstanding ?? usual.MAX_OUTSTANDING_CALLS,
  }
}

/** The most calls that can be allowed to be open at once. */
const MAX_OPEN = 1_000_000

/** The most requests, and the most tokens, that can be allowed in a minute. */
const MAX_REQUESTS = 1_000_000_000
const MAX_TOKENS = 1_000_000_000_000

/** Calls that have not ended. */
export const maxOutstanding = z.int().min(1).max(MAX_OPEN)

/** Tokens in a window of a minute. */
export const tokensPerMinute = z.int().min(1).max(MAX_TOKENS)

/** What an account may be limited to. null: no limit of its own. */
export const accountLimitFields = {
  rateLimit: z.int().min(1).max(MAX_REQUESTS).nullish().meta({ description: 'Requests a minute.' }),
  maxOutstanding: maxOutstanding.nullish().meta({ description: 'Calls that have not ended.' }),
  tokensPerMinute: tokensPerMinute.nullish().meta({ description: 'Tokens of its calls in a window of a minute.' }),
}

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

/** `resetSeconds`: until its window ends, in whole seconds; 0 if none has begun. */
export type TokenAllowance = { limit: number; remaining: number; resetSeconds: number }

/** As statements return it: null if there is no limit. */
export type AllowanceColumns = { account_tokens: TokenAllowance | null; key_tokens: TokenAllowance | null }

/** The allowances of an account and its key, as far as they are limited. */
export const allowancesOf = ({ account_tokens, key_tokens }: AllowanceColumns): TokenAllowance[] =>
  [account_tokens, key_tokens].filter((one) => one !== null)

/** The most tokens that one call can have: those of the tightest limit; Infinity without a limit. */
export const mostTokens = (allowances: readonly TokenAllowance[]): number =>
  Math.min(...allowances.map(({ limit }) => limit))

/** The allowance with the least remaining; undefined if there is none. */
export const tightest = (allowances: readonly TokenAllowance[]): TokenAllowance | undefined =>
  allowances.toSorted((a, b) => a.remaining - b.remaining)[0]

/** The columns of an account or a key whose tokens are not limited: they are not counted. */
export const UNCOUNTED_TOKENS = { token_window_at: null, token_window_used: 0 } as const
