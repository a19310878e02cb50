/** Other months than those of a new database: everything up to one month, and the next ones. */
import type { Db } from '../../src/shared/platform/postgres/db.ts'

/** The partitions of `calls`, by name. */
export async function monthsOfCalls(db: Db): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `SELECT relname AS name FROM pg_class WHERE relispartition AND relkind = 'r' AND relname ~ '^calls_' ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

const dropParts = (db: Db, named: string) =>
  db.raw(`
    DO $do$ DECLARE part name;
    BEGIN
      FOR part IN SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND relname ~ '${named}' LOOP
        EXECUTE format('DROP TABLE %I', part);
      END LOOP;
    END $do$`)

/** Leaves the months that are empty out of plans, where Postgres may read them whole. */
export const dropComingMonths = (db: Db) => dropParts(db, '^(calls|call_results|ledger_entries)_[0-9]{4}_[0-9]{2}$')

/** Gives a database without calls and entries partitions of the last `months` months, and of the next `ahead`. */
export async function splitIntoMonths(db: Db, months: number, ahead = 3): Promise<void> {
  await dropParts(db, '')
  await db.raw(`SELECT make_months(now() - :months::integer * interval '1 month', :months::integer + :ahead)`, {
    months,
    ahead,
  })
}
