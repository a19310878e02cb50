/** Accounts as operators see them. */
import type { Knex } from 'knex'
import type { OperatorAction } from '../action-log/actions.ts'
import type { LimitRow, OwnLimits } from '../identity/account-limits.ts'
import { LIMIT_COLUMNS, presentLimits } from '../identity/account-limits.ts'
import type { AccountKind, AccountStatus } from '../identity/accounts.ts'
import type { Role, User, UserRow } from '../identity/users.ts'
import { USER_COLUMNS, presentUser } from '../identity/users.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { parseId } from '../platform/ids.ts'

/**
 * An account as operators see it: its owner's address and name, what they may do, its group of the catalogue, and its
 * own limits. `name`: an organisation's; empty for a person's own account.
 */
export type OperatedAccount = User & {
  kind: AccountKind
  name: string
  status: AccountStatus
  role: Role
  group: string | null
  limits: OwnLimits
}

type OperatedRow = UserRow & LimitRow

/** What operators see of an account. */
const presentOperated = (row: OperatedRow): OperatedAccount => ({
  ...presentUser(row),
  kind: row.kind,
  name: row.account_name,
  status: row.status,
  role: row.role,
  group: row.group_name,
  limits: presentLimits(row),
})

const accountsWithOwners = (db: Db) =>
  db('accounts')
    .join('members', (on) => on.on('members.account_id', 'accounts.id').andOnVal('members.role', 'owner'))
    .join('users', 'users.id', 'members.user_id')
    .select<OperatedRow[]>(...USER_COLUMNS, ...LIMIT_COLUMNS.map((name) => `accounts.${name}`))

/** An account in a list. `lastCallAt`: its last charged call, to the minute. */
type ListedAccount = OperatedAccount & { debt: number; lastCallAt: string | null }

type ListedRow = OperatedRow & { last_call: Date | null; key: string | number | null }

/**
 * How accounts are listed: by what, and in which direction. Only accounts that have a value of it are in the list: who
 * owes nothing is not among the debts, who never called not among the last calls. The id decides among equals.
 */
const ORDERS = {
  newest: { by: null, direction: 'desc' },
  oldest: { by: null, direction: 'asc' },
  email: { by: 'users.email', direction: 'asc' },
  credits: { by: 'accounts.credits', direction: 'desc' },
  debt: { by: 'accounts.debt', direction: 'desc' },
  lastCall: { by: '(extract(epoch FROM used.at) * 1000000)::bigint', direction: 'desc' },
} as const

/** How operators can sort accounts. */
export type Sort = keyof typeof ORDERS
/** Every such order, for the schema of the query. */
export const SORTS = Object.keys(ORDERS) as [Sort, ...Sort[]]

/** What accounts can be narrowed to. */
export const STANDINGS = ['debt', 'suspended', 'unverified'] as const
/** What operators can filter accounts by. */
type Standing = (typeof STANDINGS)[number]

/** `text`: a part of the owner's address or of an organisation's name, or the account's id; empty finds all. */
export type AccountSearch = { text: string; standing?: Standing; sort: Sort }

/** The last account of a page: what it was sorted by, if by anything but its id, and its id. */
export type AccountPlace = { key: string | number | null; id: AccountId }

/** A page; `next` is null on the last one. */
export type AccountPage = { accounts: ListedAccount[]; next: AccountPlace | null }

/** At most `limit` accounts after a place, or the first. */
export async function findAccounts(
  db: Db,
  { text, standing, sort }: AccountSearch,
  limit: number,
  after: AccountPlace | null = null,
): Promise<AccountPage> {
  const { by, direction } = ORDERS[sort]
  const id = parseId('account', text)
  const rows = await accountsWithOwners(db)
    .modify((query) => {
      if (id) void query.where('accounts.id', id)
      else if (text !== '') {
        const part = text.toLowerCase()
        void query.whereRaw('(strpos(users.email, ?) > 0 OR strpos(lower(accounts.name), ?) > 0)', [part, part])
      }
      if (standing === 'debt' || sort === 'debt') void query.where('accounts.debt', '>', 0)
      if (standing === 'suspended') void query.where('accounts.status', 'suspended')
      if (standing === 'unverified') void query.whereNull('users.email_verified_at')
      if (sort === 'lastCall') void query.joinRaw(LAST_CALLS)
      if (after) beyond(query, by, direction, after)
      if (by) void query.orderByRaw(`${by} ${direction}`)
    })
    .orderBy('accounts.id', direction)
    .limit(limit + 1)
    .select<ListedRow[]>(db.raw(`${by ?? 'NULL'} AS key`), db.raw(`${LAST_CALL} AS last_call`))
  const last = rows.length > limit ? rows[limit - 1]! : null
  return { accounts: rows.slice(0, limit).map(presentListed), next: last && { key: last.key, id: last.account_id } }
}

/** When the last call of each account was charged, of all that made any. */
const LAST_CALLS = `JOIN (
  SELECT account_id, max(last_used_at) AS at FROM api_keys WHERE last_used_at IS NOT NULL GROUP BY account_id
) used ON used.account_id = accounts.id`

const LAST_CALL = '(SELECT max(last_used_at) FROM api_keys WHERE api_keys.account_id = accounts.id)'

function beyond(query: Knex.QueryBuilder, by: string | null, direction: 'asc' | 'desc', { key, id }: AccountPlace) {
  const compare = direction === 'asc' ? '>' : '<'
  if (by) void query.whereRaw(`(${by}, accounts.id) ${compare} (?, ?)`, [key as string, id])
  else void query.where('accounts.id', compare, id)
}

const presentListed = (row: ListedRow): ListedAccount => ({
  ...presentOperated(row),
  debt: row.debt,
  lastCallAt: row.last_call?.toISOString() ?? null,
})

/** One account; null if there is none. */
export async function findAccount(db: Db, id: AccountId): Promise<OperatedAccount | null> {
  const row = await accountsWithOwners(db).where('accounts.id', id).first<OperatedRow | undefined>()
  return row ? presentOperated(row) : null
}

/** By what operators recognise an account: its owner's address, and the name of an organisation, else empty. */
export type Holder = { email: string; name: string }

/** The holders of these accounts; a deleted account has none. */
export async function holdersOf(db: Db, ids: readonly AccountId[]): Promise<(id: AccountId) => Holder> {
  const rows = await db('members')
    .join('users', 'users.id', 'members.user_id')
    .join('accounts', 'accounts.id', 'members.account_id')
    .whereIn('members.account_id', [...ids])
    .where('members.role', 'owner')
    .select<(Holder & { account_id: AccountId })[]>('members.account_id', 'users.email', 'accounts.name')
  const holders = new Map(rows.map(({ account_id: id, ...holder }) => [id, holder]))
  return (id) => holders.get(id) ?? { email: '', name: '' }
}

/** Actions with the name of the account that each is about: null where it is about none. */
export async function withAccountNames(
  db: Db,
  actions: readonly OperatorAction[],
): Promise<(OperatorAction & { accountName: string | null })[]> {
  const idOf = ({ accountId }: OperatorAction): AccountId | null =>
    accountId === null ? null : parseId('account', accountId)
  const holderOf = await holdersOf(db, [...new Set(actions.flatMap((action) => idOf(action) ?? []))])
  return actions.map((action) => {
    const id = idOf(action)
    return { ...action, accountName: id && holderOf(id).name }
  })
}
