/** A key as its owner and operators see it, with its limits and what is used of its budget. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { KeyId, UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { Modality } from '../terms/kinds.ts'
import type { BudgetRow, ShownBudget } from './budgets.ts'
import { BUDGET_COLUMNS, JOIN_WINDOW, presentBudget } from './budgets.ts'
import type { Seen } from './members.ts'

/** A key: never the secret. `hint`: its first 7 and last 4 characters. A limit is null if there is none. */
export type ApiKey = {
  id: string
  /** The member whose it is. */
  memberId: string
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

type KeyRow = BudgetRow & {
  id: KeyId
  user_id: UserId
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
}

const COLUMNS = `k.id, k.user_id, k.name, k.hint, k.created_at, k.last_used_at, k.revoked_at, k.expires_at, k.models,
  k.modalities, k.allowed_ips, k.rate_limit, k.max_outstanding, k.tokens_per_minute, k.secret_ended_at,
  CASE WHEN k.previous_until > now() THEN k.previous_until END AS previous_until, ${BUDGET_COLUMNS}`

const BUDGET = `LEFT JOIN budgets b ON b.key_id = k.id ${JOIN_WINDOW}`

/** How many of its revoked keys an account is shown. */
const MAX_REVOKED = 1000

/**
 * The keys of an account, or of a member of it, newest first: all that are valid, and the newest thousand of those that
 * were revoked.
 */
export async function listKeys(db: Db, { accountId, memberId }: Seen): Promise<ApiKey[]> {
  const whose = `account_id = :accountId${memberId ? ' AND user_id = :memberId' : ''}`
  const { rows } = await db.raw<{ rows: KeyRow[] }>(
    `
    SELECT ${COLUMNS} FROM (
      SELECT * FROM api_keys WHERE ${whose} AND revoked_at IS NULL
      UNION ALL
      (SELECT * FROM api_keys WHERE ${whose} AND revoked_at IS NOT NULL ORDER BY id DESC LIMIT ${MAX_REVOKED})
    ) k ${BUDGET} ORDER BY k.id DESC`,
    { accountId, ...(memberId && { memberId }) },
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
  memberId: publicId('user', row.user_id),
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
  budget: presentBudget(row),
  previousSecretUntil: row.previous_until?.toISOString() ?? null,
  secretEndedAt: row.secret_ended_at?.toISOString() ?? null,
})
