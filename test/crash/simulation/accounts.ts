import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Period } from '../../../src/shared/identity/budgets.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, GrantId, KeyId, UserId } from '../../../src/shared/platform/ids.ts'

/**
 * What the keys of an account, and the member whose they are, may spend in a period: the first key has no budget where
 * there is only one number, and the member where theirs is null.
 */
export type Limits = { period: Period; credits: number[]; member: number | null }

/** The tokens a minute of an account and of its first key; null: any number. */
export type TokenLimits = { account: number | null; key: number | null }

/** What an account may use, and the group that it is in. */
type AccountRules = { limits: Limits | null; tokens: TokenLimits; group: string | null }

export const NO_LIMITS: AccountRules = { limits: null, tokens: { account: null, key: null }, group: null }

/** An account with two keys, and the group that it is in. */
export type Account = {
  id: AccountId
  userId: UserId
  keyIds: KeyId[]
  grants: GrantId[]
  period: Period | null
  group: string | null
}

/**
 * Makes an account of one member with its grants, in one statement: thousands of simulations begin with it. The first
 * grant expires first.
 */
export async function openAccount(
  db: Db,
  amounts: readonly number[],
  { limits, tokens, group }: AccountRules,
): Promise<Account> {
  const id = newId('account')
  const userId = newId('user')
  const keyIds = [newId('key'), newId('key')]
  const budgets = (limits?.credits ?? []).map(() => newId('budget'))
  const grants = amounts.map(() => newId('grant'))
  const total = amounts.reduce((sum, amount) => sum + amount, 0)
  await db.raw(
    `
    WITH u AS (
      INSERT INTO users (id, email, password_hash) VALUES (:userId, 'simulated-' || :userId || '@example.com', 'none')
    ), acc AS (
      INSERT INTO accounts (id, credits, ledger_seq, keys_limited, group_name, tokens_per_minute)
      VALUES (:id, :total, :count, :limited, :group, :ofAccount)
    ), m AS (
      INSERT INTO members (user_id, account_id, role) VALUES (:userId, :id, 'owner')
    ), mb AS (
      INSERT INTO budgets (id, account_id, scope, user_id, credits, period)
      SELECT :memberBudget, :id, 'member', :userId, :member::bigint, :period WHERE :member::bigint IS NOT NULL
    ), k AS (
      INSERT INTO api_keys (id, account_id, user_id, name, key_hash, hint, tokens_per_minute)
      SELECT key, :id, :userId, 'k', sha256(key::text::bytea), '', CASE nth WHEN 1 THEN :ofKey::bigint END
      FROM unnest(:keyIds::uuid[]) WITH ORDINALITY AS key (key, nth)
    ), b AS (
      INSERT INTO budgets (id, account_id, scope, key_id, credits, period)
      SELECT b.id, :id, 'key', b.key, b.credits, :period
      FROM unnest(:budgets::uuid[], :budgetKeys::uuid[], :credits::bigint[]) AS b (id, key, credits)
    ), made AS (
      SELECT * FROM unnest(:grants::uuid[], :amounts::bigint[]) WITH ORDINALITY AS l (id, amount, nth)
    ), g AS (
      INSERT INTO grants (id, account_id, origin, amount, remaining, open, expires_at)
      SELECT id, :id, 'purchase', amount, amount, true, now() + nth * interval '1 day' FROM made
    )
    INSERT INTO ledger_entries (account_id, seq, grant_id, kind, amount, balance_after)
    SELECT :id, nth, id, 'grant', amount, sum(amount) OVER (ORDER BY nth) FROM made`,
    {
      id,
      userId,
      memberBudget: newId('budget'),
      member: limits?.member ?? null,
      total,
      count: amounts.length,
      // Two keys without limits, whose member has none either, are no limits.
      limited: (limits !== null && (limits.credits.length > 0 || limits.member !== null)) || tokens.key !== null,
      group,
      ofAccount: tokens.account,
      ofKey: tokens.key,
      keyIds,
      budgets,
      budgetKeys: keyIds.toReversed().slice(0, budgets.length),
      credits: limits?.credits ?? [],
      period: limits?.period ?? null,
      grants,
      amounts: [...amounts],
    },
  )
  return { id, userId, keyIds, grants, period: limits?.period ?? null, group }
}

/**
 * Lets a minute pass for the tokens of an account: what is reserved from now on is of other windows. A window that
 * cannot have begun a minute earlier, because calls of the one before it were later than that, is over instead.
 */
export async function passMinute(db: Db, { id }: Account): Promise<void> {
  const follows = `EXISTS (SELECT FROM calls c WHERE c.account_id = :id
    AND c.created_at < token_window_at AND c.created_at >= token_window_at - interval '61 seconds')`
  const earlier = {
    token_window_at: db.raw(`CASE WHEN NOT ${follows} THEN token_window_at - interval '61 seconds' END`, { id }),
    token_window_used: db.raw(`CASE WHEN NOT ${follows} THEN token_window_used ELSE 0 END`, { id }),
  }
  await db.transaction(async (trx) => {
    await trx('accounts').where({ id }).update(earlier)
    await trx('api_keys').where({ account_id: id }).update(earlier)
  })
}

/**
 * Moves the edge of a window past an account's calls: what they used of budgets until now is of the window before. Two
 * steps, so that no two windows have the same beginning meanwhile. Of the tokens of a minute nothing is left after it.
 */
export async function passEdge(db: Db, { id, period }: Account): Promise<void> {
  if (period === null || period === 'total') return
  const back = (column: string) =>
    db.raw(`(?? AT TIME ZONE 'UTC' - ('1 ' || ?::text)::interval) AT TIME ZONE 'UTC'`, [column, period])
  await db.transaction(async (trx) => {
    await trx('accounts').where({ id }).update({ token_window_at: null, token_window_used: 0 })
    await trx('api_keys').where({ account_id: id }).update({ token_window_at: null, token_window_used: 0 })
    const windows = () =>
      trx('budget_windows').whereIn('budget_id', trx('budgets').where({ account_id: id }).select('id'))
    await windows().update({ starts_at: trx.raw("starts_at + interval '100000 days'") })
    await windows().update({
      starts_at: trx.raw(
        `((starts_at - interval '100000 days') AT TIME ZONE 'UTC' - ('1 ' || ?::text)::interval) AT TIME ZONE 'UTC'`,
        [period],
      ),
    })
    await trx('budgets').where({ account_id: id }).update({ created_at: '-infinity' })
    // The first moment of a window: a month is not as long as the one before it.
    await trx('calls')
      .where({ account_id: id })
      .update({ created_at: trx.raw(`budget_window(?, ?) + interval '1 second'`, [period, back('created_at')]) })
  })
}

/** What the schedules of calls and of payments write. */
const WRITTEN = (
  'budget_notices budget_windows budgets call_results passing_answers uploads calls ' +
  'ledger_entries deductions payment_reversals payment_refunds payment_events mailbox_gifts ' +
  'mailbox_mails grants payments billing_settings mails operator_actions api_keys members ' +
  'accounts users'
).split(' ')

/**
 * Empties the database of simulations, in one round trip, without the triggers of the ledger that prevent it.
 * @param cleanupDb a pool only for this: a connection loses its cached plans when its role changes
 */
export async function deleteAccounts(cleanupDb: Db): Promise<void> {
  await cleanupDb.raw(`
    BEGIN; SET LOCAL session_replication_role = replica;
    ${WRITTEN.map((table) => `DELETE FROM ${table};`).join(' ')}
    COMMIT`)
}
