/**
 * When circuits opened, and when their upstreams worked again: workers write it, operators read it and are notified. A
 * circuit that opens again and again while its upstream is down is one row per minute.
 */
import type { Db } from '../platform/postgres/db.ts'

/** How long openings are stored, in days. */
const KEPT_DAYS = 7

/** Notes that a circuit has opened in one worker. What is too old goes. */
export async function noteOpening(db: Db, upstream: string): Promise<void> {
  await db.raw(
    `
    WITH swept AS (DELETE FROM circuit_openings WHERE minute < now() - make_interval(days => ?))
    INSERT INTO circuit_openings (upstream, minute, openings) VALUES (?, date_trunc('minute', now()), 1)
    ON CONFLICT (minute, upstream) DO UPDATE SET openings = circuit_openings.openings + 1`,
    [KEPT_DAYS, upstream],
  )
}

/** Notes that an upstream works again: operators who were notified of the opening are notified, once. */
export async function noteRecovery(db: Db, upstream: string): Promise<void> {
  await db.raw('SELECT tell_of_recovery(?)', [upstream])
}

/**
 * Notes that an upstream goes on working for a process that has nothing to recover from. Ends the openings that nobody
 * reports any more because their process died: once none is newer than a minute. A living one opens its circuit again.
 */
export async function noteStillWorking(db: Db, upstream: string): Promise<void> {
  await db.raw(
    `SELECT tell_of_recovery(:upstream) WHERE NOT EXISTS (
       SELECT FROM circuit_openings WHERE minute > now() - interval '2 minutes' AND upstream = :upstream)`,
    { upstream },
  )
}

/** How often the circuits of an upstream opened in one hour, all workers together, and when last. */
export type OpeningsOfHour = { upstream: string; hour: Date; openings: number; last: Date }

/** The openings of the last 24 hours. */
export async function openingsOfDay(db: Db): Promise<OpeningsOfHour[]> {
  const { rows } = await db.raw<{ rows: OpeningsOfHour[] }>(`
    SELECT upstream, date_trunc('hour', minute, 'UTC') AS hour, sum(openings)::int AS openings, max(minute) AS last
    FROM circuit_openings WHERE minute > now() - interval '24 hours' GROUP BY 1, 2 ORDER BY 2, 1`)
  return rows
}
