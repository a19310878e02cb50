/**
 * The ledger: grants and entries. Credits that move for a call move in `open_calls` and `end_calls` (see `sql/`);
 * everything else that moves credits is here. Code that moves credits locks the account's row first.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, CallId, GrantId, PaymentId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'

/** Where the credits of a grant come from. */
export const ORIGINS = ['signup', 'purchase', 'bonus', 'adjustment', 'import'] as const
/** One of these origins. */
export type Origin = (typeof ORIGINS)[number]
/** Those that operators can grant: the others have a cause of their own. */
export const GRANTABLE = ['purchase', 'bonus', 'adjustment'] as const satisfies Origin[]

/** Every movement of credits. */
export const ENTRY_KINDS = [
  'grant',
  'charge',
  'settlement',
  'refund',
  'expiry',
  'adjustment',
  'collection',
  'reversal',
  'reinstatement',
] as const
/** One of these kinds. */
type EntryKind = (typeof ENTRY_KINDS)[number]

/** The most credits one grant can hold. */
export const MAX_GRANT_CREDITS = 1_000_000_000_000

/** Credits to grant. `id` is made by the caller, so that a repeated try is recognised. */
export type NewGrant = {
  id: GrantId
  accountId: AccountId
  origin: Origin
  amount: number
  expiresAt?: Date | null
  note?: string | null
  /** The payment that bought it. */
  paymentId?: PaymentId
}

/** A ledger entry as its owner sees it (docs/money.md#the-ledger). */
export type LedgerEntry = {
  /** Unique within its account. */
  id: string
  callId: string | null
  kind: EntryKind
  amount: number
  balanceAfter: number
  origin: Origin
  grantId: string
  createdAt: string
  note: string | null
}

/**
 * Grants credits in the caller's transaction, so that a grant is stored with its cause or not at all. If the account
 * has debt, the grant repays it first.
 * @returns the balance after it.
 * @throws if the account does not exist, or an amount is outside 1 … MAX_GRANT_CREDITS (by a constraint).
 */
export async function grant(trx: Trx, given: NewGrant): Promise<number> {
  const account = await lockAccount(trx, given.accountId)
  const balance = account.credits + given.amount
  await trx('grants').insert({
    id: given.id,
    account_id: given.accountId,
    origin: given.origin,
    amount: given.amount,
    remaining: given.amount,
    open: true,
    expires_at: given.expiresAt ?? null,
    note: given.note ?? null,
    payment_id: given.paymentId ?? null,
  })
  await trx('accounts')
    .where({ id: given.accountId })
    .update({ credits: balance, ledger_seq: account.ledger_seq + 1 })
  await trx('ledger_entries').insert({
    account_id: given.accountId,
    seq: account.ledger_seq + 1,
    grant_id: given.id,
    kind: 'grant',
    amount: given.amount,
    balance_after: balance,
    note: given.note ?? null,
  })
  return account.debt > 0 ? collectDebt(trx, given.accountId) : balance
}

type Balances = { rows: { balance: number }[] }

/**
 * Brings what is reversed of a paid payment to `target` credits: takes them back, and turns spent ones into debt,
 * or reinstates them (docs/money.md#refunds-and-disputes). @returns the balance after it.
 */
export async function reversePayment(trx: Trx, paymentId: PaymentId, target: number): Promise<number> {
  const { rows } = await trx.raw<Balances>('SELECT balance FROM reverse_payment(?, ?)', [paymentId, target])
  return rows[0]!.balance
}

/** The rest of the grants that a payment bought. */
export async function remainingOfPayment(db: Db | Trx, paymentId: PaymentId): Promise<number> {
  const row = await db('grants')
    .where({ payment_id: paymentId })
    .sum({ remaining: 'remaining' })
    .first<{ remaining: string | number | null } | undefined>()
  return Number(row?.remaining ?? 0)
}

/** Lets the debt of an account go. Its row must be locked. @returns how much it was. */
export async function forgiveDebt(trx: Trx, accountId: AccountId, id: string): Promise<number> {
  const { debt } = await lockAccount(trx, accountId)
  if (debt === 0) return 0
  await trx('forgiven_debts').insert({ id, account_id: accountId, credits: debt })
  await trx('accounts').where({ id: accountId }).update({ debt: 0 })
  return debt
}

/** Whether an account was ever given a grant of this origin. For a decision to give one, its row must be locked. */
export const hasGrantOf = async (db: Db | Trx, accountId: AccountId, origin: Origin): Promise<boolean> =>
  (await db('grants').where({ account_id: accountId, origin }).first('id')) !== undefined

/** Repays the debt of an account from its spendable credits. Its row must be locked. @returns the balance after it. */
async function collectDebt(trx: Trx, accountId: AccountId): Promise<number> {
  const { rows } = await trx.raw<Balances>('SELECT balance FROM collect_debts(ARRAY[?::uuid])', [accountId])
  return rows[0]!.balance
}

/** The state of an account, its row locked. In credits. */
export type LockedAccount = { credits: number; debt: number; ledger_seq: number; deleted_at: Date | null }

/**
 * Locks an account's row: it is the lock of everything that moves its credits.
 * @throws if there is no such account.
 */
export async function lockAccount(trx: Trx, accountId: AccountId): Promise<LockedAccount> {
  const row = await trx('accounts')
    .where({ id: accountId })
    .forNoKeyUpdate()
    .first<LockedAccount | undefined>('credits', 'debt', 'ledger_seq', 'deleted_at')
  if (!row) throw new Error('there is no such account')
  return row
}

/**
 * Removes the rest of expired grants from the balances, with one `expiry` entry each.
 * @returns how many grants expired; fewer than `limit` means that no more are due.
 */
export async function expireGrants(db: Db, limit: number): Promise<number> {
  return db.transaction(async (trx) => {
    const due = await trx('grants')
      .where({ open: true })
      .where('expires_at', '<=', trx.fn.now())
      // Of those past their time, which the index has, few have got something back that can still be spent.
      .whereRaw('grant_ends_at(expires_at, revived_until) <= now()')
      .orderBy('expires_at')
      .limit(limit)
      .select<{ account_id: AccountId }[]>('account_id')
    const accounts = [...new Set(due.map((row) => row.account_id))].toSorted()
    if (accounts.length === 0) return 0
    await trx('accounts').whereIn('id', accounts).orderBy('id').forNoKeyUpdate().select('id')
    const { rows } = await trx.raw<{ rows: { expired: number }[] }>(
      'SELECT expire_grants(?::uuid[], clock_timestamp()) AS expired',
      [accounts],
    )
    return rows[0]!.expired
  })
}

type EntryRow = {
  seq: number
  call_id: CallId | null
  kind: EntryKind
  amount: number
  balance_after: number
  origin: Origin
  grant_id: GrantId
  created_at: Date
  note: string | null
}

/** The entries of one call, in the order of the ledger. */
export async function entriesOfCall(db: Db, callId: CallId): Promise<LedgerEntry[]> {
  const rows = await entries(db).where('entry.call_id', callId).orderBy('entry.seq')
  return rows.map(entryOf)
}

/** What a payment moved: its grants, their reversals and reinstatements, in the order of the ledger. */
export async function entriesOfPayment(db: Db, accountId: AccountId, paymentId: PaymentId): Promise<LedgerEntry[]> {
  const rows = await entries(db)
    .where('entry.account_id', accountId)
    .whereRaw("(entry.payment_id = ? OR g.payment_id = ? AND entry.kind = 'grant')", [paymentId, paymentId])
    .orderBy('entry.seq')
  return rows.map(entryOf)
}

/** A page of an account's ledger, newest first. `next` is the place of its last entry, null on the last page. */
export type EntryPage = { entries: LedgerEntry[]; next: number | null }

/** At most `limit` entries before the place `before` in the ledger, or the newest. */
export async function listEntries(
  db: Db,
  accountId: AccountId,
  limit: number,
  before: number | null,
): Promise<EntryPage> {
  const rows = await entries(db)
    .where('entry.account_id', accountId)
    .modify((query) => {
      if (before !== null) void query.where('entry.seq', '<', before)
    })
    .orderBy('entry.seq', 'desc')
    .limit(limit + 1)
  return { entries: rows.slice(0, limit).map(entryOf), next: rows.length > limit ? rows[limit - 1]!.seq : null }
}

function entries(db: Db) {
  return db('ledger_entries as entry')
    .join('grants as g', 'g.id', 'entry.grant_id')
    .select<EntryRow[]>(
      'entry.seq',
      'entry.call_id',
      'entry.kind',
      'entry.amount',
      'entry.balance_after',
      'g.origin',
      'entry.grant_id',
      'entry.created_at',
      'entry.note',
    )
}

function entryOf(row: EntryRow): LedgerEntry {
  return {
    id: `entry_${row.seq}`,
    callId: row.call_id && publicId('call', row.call_id),
    kind: row.kind,
    amount: row.amount,
    balanceAfter: row.balance_after,
    origin: row.origin,
    grantId: publicId('grant', row.grant_id),
    createdAt: row.created_at.toISOString(),
    note: row.note,
  }
}

/** A grant as its owner sees it. */
export type Grant = {
  id: string
  origin: Origin
  amount: number
  remaining: number
  /** When it pays for nothing any more, by now: later than at first where something came back to it; null: never. */
  expiresAt: string | null
  createdAt: string
}

type GrantRow = {
  id: GrantId
  origin: Origin
  amount: number
  remaining: number
  expires_at: Date | null
  created_at: Date
}

/** Every grant of an account, spent and expired ones too, newest first. */
export async function listGrants(db: Db, accountId: AccountId): Promise<Grant[]> {
  const rows = await db('grants')
    .where({ account_id: accountId })
    .orderBy('id', 'desc')
    .select<GrantRow[]>(
      'id',
      'origin',
      'amount',
      'remaining',
      db.raw('grant_ends_at(expires_at, revived_until) AS expires_at'),
      'created_at',
    )
  return rows.map((row) => ({
    id: publicId('grant', row.id),
    origin: row.origin,
    amount: row.amount,
    remaining: row.remaining,
    expiresAt: row.expires_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
  }))
}
