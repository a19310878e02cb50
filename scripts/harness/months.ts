/** Months of the past, which a new database does not have: its first partition is everything up to some month. */
import type { Db } from '../../src/shared/platform/postgres/db.ts'

/** The partitions of `calls`, by name. */
export async function monthsOfCalls(db: Db): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `SELECT relname AS name FROM pg_class WHERE relispartition AND relkind = 'r' AND relname ~ '^calls_' ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

/** Gives a database without calls and ledger entries a partition for each of the last `months` months, and the next. */
export async function splitIntoMonths(db: Db, months: number): Promise<void> {
  await db.raw(`
    DO $do$ DECLARE part name;
    BEGIN
      FOR part IN SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' LOOP
        EXECUTE format('DROP TABLE %I', part);
      END LOOP;
    END $do$`)
  await db.raw(`SELECT make_months(now() - :months::integer * interval '1 month', :months::integer + 3)`, { months })
}
