/**
 * Accounts and upstreams as operators look at them.
 */
import type { AccountStatus } from '../accounts/accounts.ts'
import type { Role, User, UserRow } from '../users/users.ts'
import { USER_COLUMNS, presentUser } from '../users/users.ts'
import type { Db } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import { parseId } from '../ids.ts'

/** An account as operators see it: its owner's address and name, and what they may do. */
export type OperatedAccount = User & { status: AccountStatus; role: Role }

/** What of an account its operators see. */
export const presentOperated = (row: UserRow): OperatedAccount => ({
  ...presentUser(row),
  status: row.status,
  role: row.role,
})

const accountsWithOwners = (db: Db) =>
  db('accounts')
    .join('members', (on) => on.on('members.account_id', 'accounts.id').andOnVal('members.role', 'owner'))
    .join('users', 'users.id', 'members.user_id')
    .select<UserRow[]>(...USER_COLUMNS)

/** How accounts are listed. */
export const SORTS = ['newest', 'oldest', 'email', 'credits'] as const
export type Sort = (typeof SORTS)[number]

const ORDERS: Record<Sort, { column: string; order: 'asc' | 'desc' }[]> = {
  newest: [{ column: 'accounts.id', order: 'desc' }],
  oldest: [{ column: 'accounts.id', order: 'asc' }],
  email: [{ column: 'users.email', order: 'asc' }],
  credits: [
    { column: 'accounts.credits', order: 'desc' },
    { column: 'accounts.id', order: 'desc' },
  ],
}

/**
 * At most `limit` accounts whose owner's address has this text in it, or whose id it is. An empty
 * text finds all.
 */
export async function findAccounts(
  db: Db,
  text: string,
  limit: number,
  sort: Sort = 'newest',
): Promise<OperatedAccount[]> {
  const id = parseId('account', text)
  const rows = await accountsWithOwners(db)
    .modify((query) => {
      if (id) void query.where('accounts.id', id)
      else if (text !== '') void query.whereRaw('strpos(users.email, ?) > 0', [text.toLowerCase()])
    })
    .orderBy(ORDERS[sort])
    .limit(limit)
  return rows.map(presentOperated)
}

/** One account; null if there is none. */
export async function findAccount(db: Db, id: AccountId): Promise<OperatedAccount | null> {
  const row = await accountsWithOwners(db).where('accounts.id', id).first<UserRow | undefined>()
  return row ? presentOperated(row) : null
}

/** The calls of an upstream that ended in the last hour. `latencyMs`: the median. */
export type UpstreamReport = {
  upstream: string
  calls: number
  failed: number
  latencyMs: number | null
  lastCallAt: string
}

/** Every upstream that served or failed a call in the last hour. */
export async function upstreamsOfLastHour(db: Db): Promise<UpstreamReport[]> {
  const { rows } = await db.raw<{ rows: (Omit<UpstreamReport, 'lastCallAt'> & { lastCallAt: Date })[] }>(
    `
    SELECT coalesce(upstream, '(none)') AS upstream, count(*) AS calls,
      count(*) FILTER (WHERE status = 'failed') AS failed,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)::bigint AS "latencyMs", max(finished_at) AS "lastCallAt"
    FROM calls
    WHERE id > ?::uuid AND status IN ('succeeded', 'failed') AND finished_at > now() - interval '1 hour'
    GROUP BY 1 ORDER BY 1`,
    [idOfHourAgo()],
  )
  return rows.map((row) => ({ ...row, lastCallAt: row.lastCallAt.toISOString() }))
}

/**
 * Ids sort by time: the smallest id of two hours ago keeps the primary key's index in use. Calls end within their
 * hour's deadline.
 */
function idOfHourAgo(): string {
  const hex = (Date.now() - 2 * 3_600_000).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
