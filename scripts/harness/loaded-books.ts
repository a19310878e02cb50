import { createHash } from 'node:crypto'
import { newSecret } from '../../src/shared/identity/api-keys.ts'
import type { Db, Trx } from '../../src/shared/platform/postgres/db.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import type { AccountId, KeyId, UserId } from '../../src/shared/platform/ids.ts'

/** An account of a loaded database, with the secret of its one key. */
export type LoadedAccount = { id: AccountId; userId: UserId; keyId: KeyId; secret: string }

/** Credits of an account's only grant, of one call's charge, and of what a call that succeeded costs. */
const GRANT = 1_000_000_000_000
const CHARGE = 64
const COST = 26

/** Every n-th call of an account failed and was refunded. */
const FAILED_EVERY = 50

/** What an account has paid before its k-th call, in credits. */
const PAID_BEFORE = `${COST} * ((k - 1) - (k - 1) / ${FAILED_EVERY})`

/** Makes accounts, each with a key that is older than all their calls. The first is the hot one: see `loadHistory`. */
export async function loadAccounts(db: Db, count: number): Promise<LoadedAccount[]> {
  const accounts = Array.from({ length: count }, () => ({
    id: newId('account'),
    userId: newId('user'),
    keyId: newId('key'),
    secret: newSecret(),
  }))
  const hashes = accounts.map(({ secret }) => createHash('sha256').update(secret).digest('hex'))
  await db.raw(
    `
    WITH made AS (
      SELECT * FROM unnest(?::uuid[], ?::uuid[]) AS made (user_id, account_id)
    ), u AS (
      INSERT INTO users (id, email, password_hash)
      SELECT user_id, 'loaded-' || user_id || '@example.com', 'none' FROM made
    ), a AS (
      INSERT INTO accounts (id) SELECT account_id FROM made
    )
    INSERT INTO members (user_id, account_id, role) SELECT user_id, account_id, 'owner' FROM made`,
    [accounts.map(({ userId }) => userId), accounts.map(({ id }) => id)],
  )
  await db.raw(
    `
    INSERT INTO api_keys (id, account_id, user_id, name, key_hash, hint, created_at)
    SELECT id, account_id, user_id, 'loaded', decode(hash, 'hex'), 'tg_…', now() - interval '400 days'
    FROM unnest(?::uuid[], ?::uuid[], ?::uuid[], ?::text[]) AS key (id, account_id, user_id, hash)`,
    [accounts.map(({ keyId }) => keyId), accounts.map(({ id }) => id), accounts.map(({ userId }) => userId), hashes],
  )
  return accounts
}

/**
 * Replaces all calls, results, grants and ledger entries by a history of `calls` calls over the last `days` days, as if
 * these accounts had made them: a tenth by the first account, the rest by the others in turn. Each call has a charge,
 * and a settlement or a refund; those of the last day have their results. The books balance. Every value is computed
 * from the call's number, so that a million calls take a few statements and a minute or two.
 *
 * Nothing else may use the database meanwhile. Needs a superuser, who turns the ledger's triggers off: they check each
 * statement as a whole, which takes too long for these.
 */
export async function loadHistory(db: Db, accounts: readonly LoadedAccount[], calls: number, days = 30): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.raw(`SET LOCAL session_replication_role = replica`)
    await trx.raw(`SET LOCAL statement_timeout = 0`)
    await trx.raw(`SET LOCAL enable_seqscan = on`)
    await trx.raw(
      `TRUNCATE ledger_entries, call_results, call_tries, calls, grants, grant_notices, redemptions, mailbox_gifts`,
    )
    await planHistory(trx, accounts, calls, days)
    for (const statement of [CALLS, RESULTS, GRANTS, ENTRIES, BALANCES]) await trx.raw(statement)
  })
  await vacuum(db)
}

/** Leaves the tables as they are in the long run: with statistics, and with nothing that autovacuum would clean up. */
async function vacuum(db: Db): Promise<void> {
  const connection: unknown = await db.client.acquireConnection()
  try {
    await db.raw('SET statement_timeout = 0').connection(connection)
    await db
      .raw('VACUUM (ANALYZE) users, accounts, members, api_keys, grants, calls, call_results, ledger_entries')
      .connection(connection)
    await db.raw(`SET statement_timeout = '20s'`).connection(connection)
  } finally {
    await db.client.releaseConnection(connection)
  }
}

/** The account of each call, and its number `k` within its account. Ids sort by time, as real ones do. */
async function planHistory(trx: Trx, accounts: readonly LoadedAccount[], calls: number, days: number): Promise<void> {
  await trx.raw(
    `
    CREATE TEMP TABLE loaded_account ON COMMIT DROP AS
    SELECT place - 1 AS place, account_id, key_id, user_id
    FROM unnest(?::uuid[], ?::uuid[], ?::uuid[]) WITH ORDINALITY AS account (account_id, key_id, user_id, place)`,
    [accounts.map(({ id }) => id), accounts.map(({ keyId }) => keyId), accounts.map(({ userId }) => userId)],
  )
  await trx.raw(
    `
    CREATE TEMP TABLE loaded_call ON COMMIT DROP AS
    SELECT (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(noise, 1, 3) || '-8' || substr(noise, 4,
      3) || '-' || substr(noise, 7, 12))::uuid AS id,
      account_id, key_id, user_id, k, n, created_at, k % ${FAILED_EVERY} = 0 AS failed,
      CASE n % 20 WHEN 0 THEN 'image' WHEN 1 THEN 'video' ELSE 'chat' END AS modality
    FROM (
      SELECT n, CASE WHEN n % 10 = 0 OR :others::bigint = 0 THEN 0
        ELSE (n - n / 10 - 1) % :others::bigint + 1 END AS place,
        CASE WHEN :others::bigint = 0 THEN n WHEN n % 10 = 0 THEN n / 10
          ELSE (n - n / 10 - 1) / :others::bigint + 1 END AS k,
        now() - :days::integer * interval '1 day' * ((:calls::bigint - n + 1)::float8 / :calls::bigint) AS created_at,
        md5(n::text || now()::text) AS noise
      FROM generate_series(1, :calls::bigint) AS n
    ) call JOIN loaded_account USING (place)
    CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), 12, '0') AS ms) stamp
    ORDER BY n`,
    { others: accounts.length - 1, calls, days },
  )
}

const CALLS = `
  INSERT INTO calls (id, account_id, key_id, user_id, modality, model, status, price, estimated_input_tokens,
    estimated_output_tokens, credits_precharged, credits, balance_after, input_tokens, output_tokens, http_status,
    error_type, latency_ms, upstream, attempts, request_id, reply_to, request_hash, lease_until, deadline_at,
    created_at, started_at, started_by, finished_at)
  SELECT id, account_id, key_id, user_id, modality, 'bench-' || modality,
    CASE WHEN failed THEN 'failed' ELSE 'succeeded' END,
    '{"input": 100, "output": 300, "perTokens": 1000, "minimum": 1}', 30, 200, ${CHARGE},
    CASE WHEN failed THEN 0 ELSE ${COST} END, ${GRANT} - ${PAID_BEFORE} - CASE WHEN failed THEN 0 ELSE ${COST} END,
    20, 80, CASE WHEN failed THEN 502 ELSE 200 END,
    CASE WHEN failed THEN 'upstream_failed' END, 900, 'bench', 1, 'loaded-' || n, 'nobody', sha256(n::text::bytea),
    created_at + interval '20 seconds', created_at + interval '300 seconds', created_at, created_at, id,
    created_at + interval '900 milliseconds'
  FROM loaded_call ORDER BY n`

const RESULTS = `
  INSERT INTO call_results (call_id, output, expires_at)
  SELECT id, repeat('{"text": "The lighthouse keeper counts the waves."}', 8), created_at + interval '1 day'
  FROM loaded_call WHERE created_at > now() - interval '1 day' ORDER BY n`

// A grant has the id of its account, which is unique there too.
const GRANTS = `
  INSERT INTO grants (id, account_id, origin, amount, remaining, open, created_at)
  SELECT account_id, account_id, 'purchase', ${GRANT}, ${GRANT} - ${PAID_BEFORE}, true, now() - interval '400 days'
  FROM loaded_account LEFT JOIN (SELECT account_id, max(k) AS calls FROM loaded_call GROUP BY account_id) made
    USING (account_id)
  CROSS JOIN LATERAL (SELECT coalesce(calls, 0) + 1 AS k) next`

const ENTRIES = `
  INSERT INTO ledger_entries (id, account_id, seq, call_id, grant_id, kind, amount, balance_after, created_at)
  SELECT first_id(now() - interval '400 days'), account_id, 1, NULL, account_id, 'grant', ${GRANT}, ${GRANT},
    now() - interval '400 days' FROM loaded_account
  UNION ALL
  SELECT id, account_id, 2 * k + step, id, account_id, CASE WHEN step = 0 THEN 'charge' WHEN failed THEN 'refund'
    ELSE 'settlement' END,
    CASE WHEN step = 0 THEN -${CHARGE} WHEN failed THEN ${CHARGE} ELSE ${CHARGE - COST} END,
    ${GRANT} - ${PAID_BEFORE} - CASE WHEN step = 0 THEN ${CHARGE} WHEN failed THEN 0 ELSE ${COST} END,
    created_at + step * interval '900 milliseconds'
  FROM loaded_call CROSS JOIN generate_series(0, 1) AS step`

const BALANCES = `
  UPDATE accounts SET credits = remaining, ledger_seq = newest, outstanding_calls = 0
  FROM grants JOIN (SELECT account_id, max(seq) AS newest FROM ledger_entries GROUP BY account_id) entry
    USING (account_id)
  WHERE grants.account_id = accounts.id AND (credits, ledger_seq, outstanding_calls) <> (remaining, newest, 0)`
