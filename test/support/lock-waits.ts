import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { until } from '../../scripts/harness/until.ts'

/**
 * Waits until a statement of this database waits for a lock. `db` must not be a transaction: pg_stat_activity is a
 * snapshot there, which never changes.
 * @param like the pattern of the statement, for LIKE
 * @param count how many connections wait with such a statement
 */
export const untilItWaits = (db: Db, like: string, count = 1): Promise<unknown> =>
  until(`a statement like ${like} to wait`, async () => {
    const { rows } = await db.raw<{ rows: unknown[] }>(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE ?`,
      [like],
    )
    return rows.length >= count
  })
