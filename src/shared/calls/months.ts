/**
 * The months (UTC) that calls, their results and the ledger are partitioned by (docs/scaling.md#months): made ahead,
 * and dropped past CALL_RETENTION_DAYS. The ledger's stay.
 */
import type { Db } from '../platform/postgres/db.ts'

/** How many months are made before they begin. */
const AHEAD = 3

/** How long a change of partitions waits for others, in ms: it is tried again, and lost calls wait meanwhile. */
const PATIENCE_MS = 2000

/**
 * How many of the next months every partitioned table has partitions for, without a gap, up to AHEAD; -1 if one lacks
 * the current month: its calls are refused.
 */
export async function monthsAhead(db: Db): Promise<number> {
  const { rows } = await db.raw<{ rows: { ahead: number }[] }>(
    `
    SELECT coalesce(min(month.n) FILTER (WHERE NOT has_month(parent,
      date_trunc('month', now() AT TIME ZONE 'UTC') + month.n * interval '1 month')), :most + 1) - 1 AS ahead
    FROM generate_series(0, :most) AS month (n), unnest('{calls, call_results, ledger_entries}'::text[]) AS parent`,
    { most: AHEAD },
  )
  return rows[0]!.ahead
}

/** Makes the partitions of the current month and the next ones, where they are missing. */
export async function makeMonths(db: Db): Promise<void> {
  if ((await monthsAhead(db)) >= AHEAD) return
  await db.transaction(async (trx) => {
    await trx.raw(`SET LOCAL lock_timeout = ${PATIENCE_MS}`)
    await trx.raw('SELECT make_months(now(), ?)', [AHEAD])
  })
}

/** A partition of records, or one that was. `isLeaving`: a detachment of it was interrupted. */
type Part = { name: string; parent: string; upto: Date; isAttached: boolean; isLeaving: boolean }

/** Those of months that ended more than `days` ago, the oldest first, and the results before their calls. */
async function oldParts(db: Db, days: number): Promise<Part[]> {
  const { rows } = await db.raw<{ rows: Part[] }>(
    `
    SELECT c.relname AS name, m.parent, m.upto, i.inhrelid IS NOT NULL AS "isAttached",
      coalesce((to_jsonb(i) ->> 'inhdetachpending')::boolean, false) AS "isLeaving"
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    CROSS JOIN LATERAL (SELECT substring(c.relname FROM '^(calls|call_results)_') AS parent,
      (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC' AS upto) m
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
      AND c.relname ~ '^(calls|call_results)_(until_|)[0-9]{4}_[0-9]{2}$'
      AND m.upto < now() - make_interval(days => :days)
    ORDER BY m.upto, m.parent`,
    { days },
  )
  return rows
}

/**
 * Drops the records of the months whose calls all ended more than `days` days ago, with what is left of their results;
 * a month with a call that is still needed stays, and so do those after it (sql/leave_month.sql). No row is deleted,
 * and no call waits: a partition is detached while others read the table. A run that was interrupted at any place is
 * taken up there. Ledger entries have the ids of calls whose records are gone, and the hours of usage stay.
 * @throws if it had to wait for longer than PATIENCE_MS; the next run continues
 */
export async function dropOldMonths(db: Db, days: number): Promise<void> {
  for (const { name, parent, upto, isAttached, isLeaving } of await oldParts(db, days)) {
    const { rows } = await db.raw<{ rows: { left: boolean }[] }>(
      'SELECT leave_month(?, now() - make_interval(days => ?)) AS left',
      [upto, days],
    )
    if (!rows[0]!.left) return
    if (isLeaving) await briefly(db, 'ALTER TABLE ?? DETACH PARTITION ?? FINALIZE', [parent, name])
    else if (isAttached) await briefly(db, `ALTER TABLE ?? DETACH PARTITION ?? ${await how(db)}`, [parent, name])
    await briefly(db, 'DROP TABLE ??', [name])
  }
}

/** Postgres 13 cannot detach without a lock of the whole table, which then has to be had at once. */
async function how(db: Db): Promise<string> {
  const { rows } = await db.raw<{ rows: { version: number }[] }>(
    `SELECT current_setting('server_version_num')::integer AS version`,
  )
  return rows[0]!.version >= 140_000 ? 'CONCURRENTLY' : ''
}

const briefly = (db: Db, statement: string, names: string[]) =>
  db.raw(statement, names).timeout(PATIENCE_MS, { cancel: true })
