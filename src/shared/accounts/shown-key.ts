/**
 * A key as its owner and operators see it, with its limits and what is used of its budget.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, KeyId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Modality } from '../calls/lifecycle.ts'

/** How long a window of a budget is. Windows are those of UTC; a week begins on Monday. */
export const PERIODS = ['total', 'day', 'week', 'month'] as const
/** After which time a budget begins anew; `total` never does. */
export type Period = (typeof PERIODS)[number]

/**
 * A budget and what was used of it in the window that runs. `used` can exceed `credits`: a settlement counts whatever
 * it comes to. `resetsAt`: when the next window begins; null for a total.
 */
type ShownBudget = {
  credits: number
  period: Period
  used: number
  remaining: number
  resetsAt: string | null
}

/** A key: never the secret. `hint`: its first 7 and last 4 characters. A limit is null if there is none. */
export type ApiKey = {
  id: string
  name: string
  hint: string
  createdAt: string
  lastUsedAt: string | null
  revokedAt: string | null
  expiresAt: string | null
  models: string[] | null
  modalities: Modality[] | null
  /** Ranges in CIDR notation. */
  allowedIps: string[] | null
  /** Requests a minute. */
  rateLimit: number | null
  /** Calls that have not ended. */
  maxOutstanding: number | null
  /** Tokens of its calls in a window of a minute. */
  tokensPerMinute: number | null
  budget: ShownBudget | null
  /** Until when the secret before the last rotation is still good; null if it is not. */
  previousSecretUntil: string | null
  /** When an operator ended its secret: it is refused until its owner rotates it; null if its secret is good. */
  secretEndedAt: string | null
}

type KeyRow = {
  id: KeyId
  name: string
  hint: string
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
  expires_at: Date | null
  models: string[] | null
  modalities: Modality[] | null
  allowed_ips: string[] | null
  rate_limit: number | null
  max_outstanding: number | null
  tokens_per_minute: number | null
  previous_until: Date | null
  secret_ended_at: Date | null
  credits: number | null
  period: Period
  used: number
  resets_at: Date | null
}

const COLUMNS = `k.id, k.name, k.hint, k.created_at, k.last_used_at, k.revoked_at, k.expires_at, k.models, k.modalities,
  k.allowed_ips, k.rate_limit, k.max_outstanding, k.tokens_per_minute, k.secret_ended_at,
  CASE WHEN k.previous_until > now() THEN k.previous_until END AS previous_until,
  b.credits, b.period, coalesce(w.used, 0) AS used,
  CASE WHEN b.period <> 'total' THEN (budget_window(b.period, now()) AT TIME ZONE 'UTC'
    + ('1 ' || b.period)::interval) AT TIME ZONE 'UTC' END AS resets_at`

const BUDGET = `LEFT JOIN budgets b ON b.key_id = k.id
  LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at = budget_window(b.period, now())`

/** How many of its revoked keys an account is shown. */
const MAX_REVOKED = 1000

/** The keys of an account, newest first: all that are valid, and the newest thousand of those that were revoked. */
export async function listKeys(db: Db, accountId: AccountId): Promise<ApiKey[]> {
  const { rows } = await db.raw<{ rows: KeyRow[] }>(
    `
    SELECT ${COLUMNS} FROM (
      SELECT * FROM api_keys WHERE account_id = :accountId AND revoked_at IS NULL
      UNION ALL
      (SELECT * FROM api_keys WHERE account_id = :accountId AND revoked_at IS NOT NULL
        ORDER BY id DESC LIMIT ${MAX_REVOKED})
    ) k ${BUDGET} ORDER BY k.id DESC`,
    { accountId },
  )
  return rows.map(presentKey)
}

/** One key; null if there is none. */
export async function findKey(db: Db | Trx, id: KeyId): Promise<ApiKey | null> {
  const { rows } = await db.raw<{ rows: KeyRow[] }>(
    `
    SELECT ${COLUMNS} FROM api_keys k ${BUDGET} WHERE k.id = ?`,
    [id],
  )
  return rows[0] ? presentKey(rows[0]) : null
}

const presentKey = (row: KeyRow): ApiKey => ({
  id: publicId('key', row.id),
  name: row.name,
  hint: row.hint,
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
  revokedAt: row.revoked_at?.toISOString() ?? null,
  expiresAt: row.expires_at?.toISOString() ?? null,
  models: row.models,
  modalities: row.modalities,
  allowedIps: row.allowed_ips,
  rateLimit: row.rate_limit,
  maxOutstanding: row.max_outstanding,
  tokensPerMinute: row.tokens_per_minute,
  budget: budgetOf(row),
  previousSecretUntil: row.previous_until?.toISOString() ?? null,
  secretEndedAt: row.secret_ended_at?.toISOString() ?? null,
})

function budgetOf({ credits, period, used, resets_at }: KeyRow): ShownBudget | null {
  if (credits === null) return null
  return { credits, period, used, remaining: Math.max(0, credits - used), resetsAt: resets_at?.toISOString() ?? null }
}
