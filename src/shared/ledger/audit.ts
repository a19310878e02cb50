/**
 * The invariants of the ledger, as queries that return the rows that break them. Tests run them after everything that
 * moves credits; `admin audit` and the auditor run the same queries in production. The rules in words:
 * docs/money.md#the-audit.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { OF_IMPORTS } from './import-invariants.ts'
import { OF_USAGE } from './usage-invariants.ts'

/** One row that breaks an invariant. */
type Breach = { invariant: string; row: Record<string, unknown> }

/** What an audit checked, and what it found. `checked`: rows by table. */
export type Audit = { checked: Record<string, number>; breaches: Breach[] }

/** At most this many offending rows of one invariant are named. */
const SHOWN_ROWS = 20

/**
 * Whether a call's answer is stored. Calls of releases that did not have the bounds of a settlement may be beyond them;
 * their answers are gone a day after the upgrade.
 */
const IS_KEPT = "c.status = 'succeeded' AND EXISTS (SELECT FROM call_results r WHERE r.call_id = c.id)"

/** Every call with the budgets that it uses, since these were set: that of its key, and that of its member. */
const BUDGETED = ['c.key_id = b.key_id', 'c.account_id = b.account_id AND c.user_id = b.user_id']
  .map(
    (isOf) => `SELECT b.id AS budget_id, budget_window(b.period, c.created_at) AS starts_at, c.id AS call_id, c.status,
      c.credits + c.credits_uncollected AS cost,
      CASE WHEN c.finished_at IS NULL THEN c.credits_precharged ELSE 0 END AS held
      FROM budgets b JOIN calls c ON ${isOf} AND c.created_at >= b.created_at`,
  )
  .join(' UNION ALL ')

/** Invariant → query of its offending rows. */
const INVARIANTS: Record<string, string> = {
  "a balance is the sum of its account's entries": `
    SELECT acc.id AS account_id, acc.credits, coalesce(sum(e.amount), 0)::bigint AS entries
    FROM accounts acc LEFT JOIN ledger_entries e ON e.account_id = acc.id
    GROUP BY acc.id, acc.credits HAVING acc.credits <> coalesce(sum(e.amount), 0)`,
  "a balance is the sum of its grants' remainders": `
    SELECT acc.id AS account_id, acc.credits, coalesce(sum(g.remaining), 0)::bigint AS remaining
    FROM accounts acc LEFT JOIN grants g ON g.account_id = acc.id
    GROUP BY acc.id, acc.credits HAVING acc.credits <> coalesce(sum(g.remaining), 0)`,
  "a grant's remainder is the sum of its entries": `
    SELECT g.id AS grant_id, g.remaining, coalesce(sum(e.amount), 0)::bigint AS entries
    FROM grants g LEFT JOIN ledger_entries e ON e.grant_id = g.id
    GROUP BY g.id, g.remaining HAVING g.remaining <> coalesce(sum(e.amount), 0)`,
  'a grant has exactly one grant entry, of its amount': `
    SELECT g.id AS grant_id, g.amount, count(e.seq) AS entries
    FROM grants g LEFT JOIN ledger_entries e ON e.grant_id = g.id AND e.kind = 'grant'
    GROUP BY g.id, g.amount HAVING count(e.seq) <> 1 OR sum(e.amount) <> g.amount`,
  'no balance, no debt and no remainder is negative': `
    SELECT id AS account_id, credits FROM accounts WHERE credits < 0
    UNION ALL SELECT id, debt FROM accounts WHERE debt < 0
    UNION ALL SELECT id, remaining FROM grants WHERE remaining < 0 OR remaining > amount`,
  'entries are numbered without gaps, and balanceAfter follows from the entry before': `
    SELECT account_id, seq, amount, balance_after FROM (
      SELECT account_id, seq, amount, balance_after,
        coalesce(lag(balance_after) OVER w, 0) AS balance_before, coalesce(lag(seq) OVER w, 0) AS seq_before
      FROM ledger_entries WINDOW w AS (PARTITION BY account_id ORDER BY seq)
    ) e WHERE seq <> seq_before + 1 OR balance_after <> balance_before + amount`,
  "an account's number of entries is its newest entry's": `
    SELECT acc.id AS account_id, acc.ledger_seq, coalesce(max(e.seq), 0) AS newest
    FROM accounts acc LEFT JOIN ledger_entries e ON e.account_id = acc.id
    GROUP BY acc.id, acc.ledger_seq HAVING acc.ledger_seq <> coalesce(max(e.seq), 0)`,
  "a call's entries add up to its credits": `
    SELECT c.id AS call_id, c.status, c.credits, coalesce(sum(e.amount), 0)::bigint AS entries
    FROM calls c LEFT JOIN ledger_entries e ON e.call_id = c.id
    GROUP BY c.id, c.status, c.credits HAVING -c.credits <> coalesce(sum(e.amount), 0)`,
  "a call's charge entries add up to its pre-charge": `
    SELECT c.id AS call_id, c.credits_precharged, coalesce(sum(e.amount), 0)::bigint AS charged
    FROM calls c LEFT JOIN ledger_entries e ON e.call_id = c.id AND e.kind = 'charge'
    GROUP BY c.id, c.credits_precharged HAVING -c.credits_precharged <> coalesce(sum(e.amount), 0)`,
  'only a failed call is refunded, and only a succeeded one settled': `
    SELECT e.call_id, e.kind, c.status FROM ledger_entries e JOIN calls c ON c.id = e.call_id
    WHERE e.kind = 'refund' AND c.status <> 'failed' OR e.kind = 'settlement' AND c.status <> 'succeeded'`,
  'no call gives a grant more than it took from it': `
    SELECT call_id, grant_id, sum(amount)::bigint AS amount FROM ledger_entries
    WHERE call_id IS NOT NULL GROUP BY call_id, grant_id HAVING sum(amount) > 0`,
  'a call and its grants belong to the account of its entries': `
    SELECT e.account_id, e.seq, e.call_id, e.grant_id FROM ledger_entries e
    LEFT JOIN calls c ON c.id = e.call_id LEFT JOIN grants g ON g.id = e.grant_id
    WHERE g.account_id IS DISTINCT FROM e.account_id OR c.account_id <> e.account_id`,
  'a call that ended has its end, and a failed one costs nothing': `
    SELECT id AS call_id, status, credits FROM calls
    WHERE (status IN ('queued', 'running')) <> (finished_at IS NULL)
      OR status IN ('failed', 'rejected') AND credits <> 0`,
  'a call has the price of its version': `
    SELECT c.id AS call_id, c.price_version, c.price, v.price AS of_version
    FROM calls c LEFT JOIN price_versions v ON v.id = c.price_version
    WHERE c.price_version IS NOT NULL AND (v.price IS DISTINCT FROM c.price OR v.model <> c.model)`,
  'no call costs more than twice its pre-charge': `
    SELECT c.id AS call_id, c.credits, c.credits_uncollected, c.credits_precharged FROM calls c
    WHERE c.credits + c.credits_uncollected > 2 * c.credits_precharged AND ${IS_KEPT}`,
  'moderations, rankings, speech and transcriptions cost what was charged for them': `
    SELECT c.id AS call_id, c.credits, c.credits_uncollected, c.credits_precharged FROM calls c
    WHERE c.modality IN ('moderation', 'rerank', 'speech', 'transcription')
      AND c.credits + c.credits_uncollected <> c.credits_precharged AND ${IS_KEPT}`,
  "a chat's tokens can be: of its input at most one a byte, and at most twice the output that it may have": `
    SELECT c.id AS call_id, c.input_tokens, c.estimated_input_tokens, c.output_tokens, c.estimated_output_tokens
    FROM calls c WHERE (c.input_tokens > 3 * c.estimated_input_tokens
      OR c.output_tokens > 2 * c.estimated_output_tokens) AND ${IS_KEPT}`,
  'a chat costs what its price says of its tokens': `
    SELECT id AS call_id, credits, credits_uncollected, credits_precharged, due FROM (
      SELECT c.*, least(1000000000000, div(share * greatest((price ->> 'minimum')::numeric * per,
        coalesce((price ->> 'perCall')::numeric, 0) * per
          + (input_tokens - cached_input_tokens - cache_write_tokens + coalesce(repeated_input_tokens, 0))
            * (price ->> 'input')::numeric
          + cached_input_tokens * coalesce(price ->> 'cachedInput', price ->> 'input')::numeric
          + cache_write_tokens * coalesce(price ->> 'cacheWrite', price ->> 'input')::numeric
          + output_tokens * coalesce((price ->> 'output')::numeric, 0)
        ) + 10000 * per - 1, 10000 * per)) AS due
      FROM calls c, LATERAL (SELECT (price ->> 'perTokens')::numeric AS per,
        coalesce((price ->> 'priceBasisPoints')::numeric, 10000) AS share) of
      WHERE status = 'succeeded' AND price ->> 'perTokens' IS NOT NULL AND cached_input_tokens IS NOT NULL
    ) c WHERE credits + credits_uncollected NOT IN (due, least(due, 2 * credits_precharged))`,
  'a call has the share of its group, as its version of the catalogue has it': `
    SELECT c.id AS call_id, c.group_name, c.catalogue_version, c.price ->> 'priceBasisPoints' AS points
    FROM calls c LEFT JOIN (
      SELECT v.version, g.key AS name, coalesce((g.value ->> 'priceBasisPoints')::integer, 10000) AS points
      FROM catalogue_versions v CROSS JOIN json_each(v.content -> 'groups') g
      WHERE v.version IN (SELECT catalogue_version FROM calls WHERE group_name IS NOT NULL)
    ) g ON g.version = c.catalogue_version AND g.name = c.group_name
    WHERE (c.group_name IS NOT NULL OR c.price -> 'priceBasisPoints' IS NOT NULL)
      AND coalesce((c.price ->> 'priceBasisPoints')::integer, 10000) <> coalesce(g.points, 10000)`,
  'an image call costs the pictures that it delivered, each at a row of its price': `
    SELECT c.id AS call_id, c.pictures, c.credits, c.credits_uncollected, c.price FROM calls c
    WHERE c.pictures IS NOT NULL AND NOT EXISTS (
      SELECT FROM jsonb_array_elements(coalesce(c.price -> 'prices', jsonb_build_array(c.price))) r
      WHERE c.credits + c.credits_uncollected = ceil(c.pictures * (r ->> 'credits')::numeric
        * coalesce((c.price ->> 'priceBasisPoints')::integer, 10000) / 10000))`,
  'no image call costs more than it was charged for its pictures': `
    SELECT c.id AS call_id, c.pictures, c.credits, c.credits_uncollected, c.credits_precharged FROM calls c
    WHERE c.pictures IS NOT NULL AND c.credits + c.credits_uncollected > c.credits_precharged`,
  "an account's debt is what was left uncollected, less what was collected or forgiven since": `
    SELECT acc.id AS account_id, acc.debt, coalesce(c.uncollected, 0) AS uncollected, coalesce(e.collected,
      0) AS collected
    FROM accounts acc
    LEFT JOIN (SELECT account_id, sum(credits_uncollected)::bigint AS uncollected FROM calls
      WHERE credits_uncollected > 0 GROUP BY account_id) c
      ON c.account_id = acc.id
    LEFT JOIN (SELECT account_id, -sum(amount)::bigint AS collected FROM ledger_entries
      WHERE kind = 'collection' GROUP BY account_id) e
      ON e.account_id = acc.id
    LEFT JOIN (SELECT account_id, sum(owed)::bigint AS owed FROM payment_reversals GROUP BY account_id) r
      ON r.account_id = acc.id
    LEFT JOIN (SELECT account_id, sum(credits)::bigint AS forgiven FROM forgiven_debts GROUP BY account_id) f
      ON f.account_id = acc.id
    LEFT JOIN (SELECT account_id, sum(owed)::bigint AS owed FROM deductions GROUP BY account_id) d
      ON d.account_id = acc.id
    WHERE acc.debt <> coalesce(c.uncollected, 0) + coalesce(r.owed, 0) + coalesce(d.owed, 0) - coalesce(f.forgiven, 0)
      - coalesce(e.collected, 0)`,
  'a paid payment has exactly the grants that it bought, and no other payment has any': `
    SELECT p.id AS payment_id, p.status, p.credits, p.bonus, coalesce(g.credits, 0) AS granted,
      coalesce(g.bonus, 0) AS granted_bonus
    FROM payments p LEFT JOIN (SELECT payment_id,
        sum(amount) FILTER (WHERE origin = 'purchase')::bigint AS credits,
        sum(amount) FILTER (WHERE origin <> 'purchase')::bigint AS bonus
      FROM grants WHERE payment_id IS NOT NULL GROUP BY payment_id) g ON g.payment_id = p.id
    WHERE (CASE p.status WHEN 'paid' THEN p.credits ELSE 0 END, CASE p.status WHEN 'paid' THEN p.bonus ELSE 0 END)
      <> (coalesce(g.credits, 0), coalesce(g.bonus, 0))
    UNION ALL SELECT g.payment_id, 'of another account', g.amount, 0, 0, 0 FROM grants g
      LEFT JOIN payments p ON p.id = g.payment_id AND p.account_id = g.account_id
    WHERE g.payment_id IS NOT NULL AND p.id IS NULL`,
  "a payment's reversed credits are the sum of its reversals, and these moved what the ledger says": `
    SELECT p.id AS payment_id, p.reversed, coalesce(r.credits, 0) AS reversals, coalesce(r.moved, 0) AS moved,
      coalesce(e.moved, 0) AS entries
    FROM payments p
    LEFT JOIN (SELECT payment_id, sum(credits)::bigint AS credits, sum(moved)::bigint AS moved FROM payment_reversals
      GROUP BY payment_id) r ON r.payment_id = p.id
    LEFT JOIN (SELECT payment_id, -sum(amount)::bigint AS moved FROM ledger_entries
      WHERE payment_id IS NOT NULL GROUP BY payment_id) e ON e.payment_id = p.id
    WHERE p.reversed <> coalesce(r.credits, 0) OR coalesce(r.moved, 0) <> coalesce(e.moved, 0)`,
  'a payment is reversed as far as its money went back': `
    SELECT id AS payment_id, credits, bonus, amount_minor, refunded_minor, disputed_minor, reversed FROM payments
    WHERE reversed <> CASE WHEN refunded_minor + disputed_minor >= amount_minor THEN credits + bonus
      ELSE floor(credits::numeric * (refunded_minor + disputed_minor) / amount_minor) END`,
  'a deduction moved what the ledger says': `
    SELECT d.id AS deduction_id, d.account_id, d.credits, d.moved, d.owed, coalesce(e.moved, 0) AS entries
    FROM deductions d LEFT JOIN (SELECT deduction_id, account_id, -sum(amount)::bigint AS moved FROM ledger_entries
      WHERE kind = 'adjustment' GROUP BY deduction_id, account_id) e
      ON e.deduction_id = d.id AND e.account_id = d.account_id
    WHERE d.moved <> coalesce(e.moved, 0) OR d.credits <> d.moved + d.owed
    UNION ALL SELECT e.deduction_id, e.account_id, -e.amount, 0, 0, e.seq FROM ledger_entries e
      LEFT JOIN deductions d ON d.id = e.deduction_id WHERE e.kind = 'adjustment' AND d.id IS NULL`,
  'a code was redeemed as often as it says, each time for its credits': `
    SELECT c.id AS code_id, c.uses, c.credits, count(r.code_id) AS redemptions FROM redemption_codes c
    LEFT JOIN redemptions r ON r.code_id = c.id LEFT JOIN grants g ON g.id = r.grant_id
    GROUP BY c.id HAVING c.uses <> count(r.code_id) OR bool_or(r.code_id IS NOT NULL AND (g.amount <> c.credits
      OR g.account_id <> r.account_id))`,
  'what a mailbox was given once is its sign-up credits, or what the code gave': `
    SELECT m.grant_id, m.code_id, g.account_id, g.origin FROM mailbox_gifts m JOIN grants g ON g.id = m.grant_id
    LEFT JOIN redemptions r ON r.grant_id = m.grant_id
    WHERE g.origin <> CASE WHEN m.code_id IS NULL THEN 'signup' ELSE 'bonus' END
      OR m.code_id IS DISTINCT FROM r.code_id`,
  ...OF_IMPORTS,
  'an account with debt has nothing to spend': `
    SELECT acc.id AS account_id, acc.debt, g.id AS grant_id, g.remaining FROM accounts acc JOIN grants g
      ON g.account_id = acc.id
    WHERE acc.debt > 0 AND g.remaining > 0 AND coalesce(grant_ends_at(g.expires_at, g.revived_until) > now(), true)`,
  'no grant outlives its first expiry by more than a day, or by one from when a payment was reinstated': `
    SELECT g.id AS grant_id, g.expires_at, g.revived_until FROM grants g
    WHERE g.revived_until > g.expires_at + interval '24 hours' AND g.revived_until > coalesce((
      SELECT max(e.created_at) FROM ledger_entries e WHERE e.grant_id = g.id AND e.kind = 'reinstatement'),
      '-infinity') + interval '24 hours'`,
  "an account's request bytes are those of its open calls": `
    SELECT acc.id AS account_id, acc.request_bytes, coalesce(sum(c.request_bytes), 0)::bigint AS open
    FROM accounts acc LEFT JOIN calls c ON c.account_id = acc.id AND c.finished_at IS NULL
    GROUP BY acc.id, acc.request_bytes HAVING acc.request_bytes <> coalesce(sum(c.request_bytes), 0)`,
  'an account holds what its open calls were charged': `
    SELECT acc.id AS account_id, acc.held, coalesce(sum(c.credits_precharged), 0)::bigint AS charged
    FROM accounts acc LEFT JOIN calls c ON c.account_id = acc.id AND c.finished_at IS NULL
    GROUP BY acc.id, acc.held HAVING acc.held <> coalesce(sum(c.credits_precharged), 0)`,
  "an account's outstanding calls are its open calls": `
    SELECT acc.id AS account_id, acc.outstanding_calls, count(c.id) AS open
    FROM accounts acc LEFT JOIN calls c ON c.account_id = acc.id AND c.finished_at IS NULL
    GROUP BY acc.id, acc.outstanding_calls HAVING acc.outstanding_calls <> count(c.id)`,
  'what was used of a budget is what the calls of its key or member in that window cost': `
    SELECT w.budget_id, w.starts_at, w.used, w.swept + coalesce(c.cost, 0) AS cost
    FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
    LEFT JOIN (SELECT budget_id, starts_at, sum(cost)::bigint AS cost FROM (${BUDGETED}) c GROUP BY 1, 2) c
      ON c.budget_id = w.budget_id AND c.starts_at = w.starts_at
    WHERE w.used <> w.swept + coalesce(c.cost, 0)`,
  'what is held of a budget is what the open calls of its key or member in that window were charged': `
    SELECT w.budget_id, w.starts_at, w.held, coalesce(c.held, 0) AS charged FROM budget_windows w
    LEFT JOIN (SELECT budget_id, starts_at, sum(held)::bigint AS held FROM (${BUDGETED}) c GROUP BY 1, 2) c
      ON c.budget_id = w.budget_id AND c.starts_at = w.starts_at
    WHERE w.budget_id IN (SELECT id FROM budgets) AND w.held <> coalesce(c.held, 0)`,
  'every call of a key or member is counted since there is a budget': `
    SELECT c.call_id, c.budget_id FROM (${BUDGETED}) c
    LEFT JOIN budget_windows w ON w.budget_id = c.budget_id AND w.starts_at = c.starts_at
    WHERE w.budget_id IS NULL AND c.status <> 'rejected'`,
  'a call is of the account and the member of its key': `
    SELECT c.id AS call_id, c.account_id, c.user_id, k.id AS key_id FROM calls c JOIN api_keys k ON k.id = c.key_id
    WHERE (c.account_id, c.user_id) <> (k.account_id, k.user_id)`,
  "a key's outstanding calls are its open calls, where they are limited": `
    SELECT k.id AS key_id, k.outstanding_calls, count(c.id) AS open
    FROM api_keys k LEFT JOIN calls c ON c.key_id = k.id AND c.finished_at IS NULL
    WHERE k.max_outstanding IS NOT NULL
    GROUP BY k.id, k.outstanding_calls HAVING k.outstanding_calls <> count(c.id)`,
  'an account with a budget or a limited key says so': `
    SELECT acc.id AS account_id, b.id AS limit_id FROM accounts acc JOIN budgets b ON b.account_id = acc.id
    WHERE NOT acc.keys_limited
    UNION ALL SELECT acc.id, k.id FROM accounts acc JOIN api_keys k ON k.account_id = acc.id
    WHERE NOT acc.keys_limited AND (k.max_outstanding IS NOT NULL OR k.tokens_per_minute IS NOT NULL)`,
  // Of windows before that the records of calls may have been swept.
  'what is used of the tokens of a minute is what the calls of that window reserve, or came to': `
    SELECT w.account_id, w.key_id, w.token_window_at, w.token_window_used, sum(c.tokens)::bigint AS tokens
    FROM (
      SELECT id AS account_id, NULL::uuid AS key_id, token_window_at, token_window_used FROM accounts
      UNION ALL SELECT account_id, id, token_window_at, token_window_used FROM api_keys
    ) w
    LEFT JOIN (SELECT account_id, key_id, created_at, CASE status WHEN 'failed' THEN 0
        WHEN 'succeeded' THEN coalesce(input_tokens + coalesce(output_tokens, 0), reserved_tokens)
        ELSE reserved_tokens END AS tokens
      FROM calls WHERE estimated_input_tokens IS NOT NULL) c
      ON c.account_id = w.account_id AND coalesce(c.key_id = w.key_id, true) AND c.created_at >= w.token_window_at
    WHERE w.token_window_at > now() - interval '1 day'
    GROUP BY 1, 2, 3, 4 HAVING w.token_window_used <> coalesce(sum(c.tokens), 0)`,
  ...OF_USAGE,
  'no call is open longer than a minute past its deadline': `
    SELECT id AS call_id, status, deadline_at FROM calls
    WHERE finished_at IS NULL AND deadline_at < now() - interval '1 minute'`,
}

/** Restricts each table to some of the accounts, so that the queries above check only those. */
const PART = [
  'accounts WHERE id',
  'grants WHERE account_id',
  'ledger_entries WHERE account_id',
  'calls WHERE account_id',
  'usage_hours WHERE account_id',
  'api_keys WHERE account_id',
  'budgets WHERE account_id',
  'payments WHERE account_id',
  'payment_reversals WHERE account_id',
  'forgiven_debts WHERE account_id',
  'deductions WHERE account_id',
  'import_origins WHERE account_id',
].map((part) => `${part.split(' ')[0]} AS (SELECT * FROM ${part} = ANY (?::uuid[]))`)

const TABLES = ['accounts', 'grants', 'ledger_entries', 'calls', 'budgets', 'payments']

/** How many of the newest calls decide which accounts are active. */
const RECENT_CALLS = 10_000

/** Checks every invariant for all accounts. It reads every ledger entry, which takes minutes for many millions. */
export const audit = (db: Db): Promise<Audit> =>
  inSnapshot(db, async (trx) => {
    // One of its queries may take longer than the usual statement timeout (db.ts).
    await trx.raw('SET LOCAL statement_timeout = 0')
    return check(trx)
  })

/**
 * Checks every invariant of accounts that were active lately, in random order, until they have `maxEntries` ledger
 * entries together. It is cheap and reaches every account over time, except those with more entries than that, which
 * only `audit` checks.
 */
export const auditActive = (db: Db, maxEntries: number): Promise<Audit> =>
  inSnapshot(db, async (trx) => check(trx, await activeAccounts(trx, maxEntries)))

/** One snapshot, so that calls in flight are not taken for breaches. */
const inSnapshot = (db: Db, work: (trx: Trx) => Promise<Audit>): Promise<Audit> =>
  db.transaction(
    async (trx) => {
      // An audit reads whole tables, which connections otherwise avoid (db.ts).
      await trx.raw('SET LOCAL enable_seqscan = on')
      return work(trx)
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  )

async function activeAccounts(trx: Trx, maxEntries: number): Promise<string[]> {
  const { rows } = await trx.raw<{ rows: { id: string }[] }>(
    `
    SELECT id FROM (
      SELECT acc.id, sum(acc.ledger_seq) OVER (ORDER BY random()) AS upto FROM accounts acc
      WHERE acc.ledger_seq <= ? AND acc.id IN (SELECT account_id FROM (SELECT account_id FROM calls
        ORDER BY id DESC LIMIT ?) recent)
    ) active WHERE upto <= ?`,
    [maxEntries, RECENT_CALLS, maxEntries],
  )
  return rows.map(({ id }) => id)
}

/** Every invariant in one statement: the name of one that is broken, and a row that breaks it. */
const BREACHES = Object.entries(INVARIANTS)
  .map(([invariant, query]) => {
    const name = invariant.replaceAll("'", "''")
    return `(SELECT '${name}' AS invariant, to_jsonb(broken) AS row FROM (${query} LIMIT ${SHOWN_ROWS}) broken)`
  })
  .join(' UNION ALL ')

const COUNTS = TABLES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ')

/** @param accounts whose invariants to check; all of them if absent. */
async function check(trx: Trx, accounts?: string[]): Promise<Audit> {
  const [part, bindings] = accounts ? [`WITH ${PART.join(', ')} `, PART.map(() => accounts)] : ['', []]
  const { rows: breaches } = await trx.raw<{ rows: Breach[] }>(`${part}${BREACHES}`, bindings)
  const { rows: counts } = await trx.raw<{ rows: Record<string, number>[] }>(`${part}SELECT ${COUNTS}`, bindings)
  return { checked: counts[0]!, breaches }
}
