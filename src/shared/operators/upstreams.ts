/** Upstreams as operators see them: what their calls came to, and when their circuits opened. */
import type { UpstreamHour } from '../reports/last-day.ts'
import { keysOfLastHour, upstreamHours, upstreamsOfLastHour } from '../reports/last-day.ts'
import type { FailedTry } from '../calls/tries.ts'
import { lastFailedTries } from '../calls/tries.ts'
import type { NamedKey } from '../catalogue/catalogue.ts'
import type { KeyStanding, KeyStates } from './key-states.ts'
import { standingOf } from './key-states.ts'
import type { Db } from '../platform/postgres/db.ts'

/** One hour of an upstream (UTC): calls that were accepted in it and have ended, and how often its circuits opened. */
type HourReport = { hour: string; calls: number; failed: number; openings: number }

/** An upstream: its last hour (`latencyMs`: the median), its 24 hours, and when a circuit opened last in them. */
export type UpstreamReport = {
  upstream: string
  calls: number
  failed: number
  latencyMs: number | null
  lastCallAt: string | null
  openedAt: string | null
  hours: HourReport[]
  /** The keys of the catalogue; none of an upstream that is no longer in it. */
  keys: KeyReport[]
  /** The newest failed requests to it. */
  failures: FailedTry[]
}

/** A key of an upstream, with its requests of the last hour. */
export type KeyReport = NamedKey & KeyStanding & { calls: number; failures: number }

/** What is known of keys. */
export type KnownKeys = {
  pools: ReadonlyMap<string, readonly NamedKey[]>
  states: KeyStates
  disabled: ReadonlySet<string>
}

const HOUR_MS = 3_600_000
const HOURS = 24

/** Among how many failed calls the failures of upstreams are looked for, and how many each is shown with. */
const FAILED_CALLS = 200
const FAILURES = 5

/** What the calls of the last day show of upstreams. */
export async function readUpstreamCalls(db: Db) {
  const [last, calls, openings, keys, failures] = await Promise.all([
    upstreamsOfLastHour(db),
    upstreamHours(db),
    openingsOfDay(db),
    keysOfLastHour(db),
    lastFailedTries(db, FAILED_CALLS),
  ])
  return { last, calls, openings, keys, failures }
}

/**
 * Every upstream of the catalogue, and every other that had calls in the last 24 hours or whose circuit opened in them,
 * by name.
 */
export function reportUpstreams(
  { last, calls, openings, keys: asked, failures }: Awaited<ReturnType<typeof readUpstreamCalls>>,
  { pools, states, disabled }: KnownKeys,
  now = Date.now(),
): UpstreamReport[] {
  const names = new Set([...pools.keys(), ...[...last, ...calls, ...openings].map(({ upstream }) => upstream)])
  const reportOf = (upstream: string, named: NamedKey): KeyReport => {
    const { calls: requests = 0, failures = 0 } =
      asked.find((one) => one.upstream === upstream && one.key === named.name) ?? {}
    const standing = standingOf({ upstream, key: named.name }, states, disabled, now)
    return { ...named, ...standing, calls: requests, failures }
  }
  return [...names].toSorted().map((upstream) => {
    const lately = last.find((one) => one.upstream === upstream)
    const served = calls.filter((one) => one.upstream === upstream)
    const opened = openings.filter((one) => one.upstream === upstream)
    return {
      upstream,
      calls: lately?.calls ?? 0,
      failed: lately?.failed ?? 0,
      latencyMs: lately?.latencyMs ?? null,
      lastCallAt: lately?.lastCallAt.toISOString() ?? null,
      openedAt: opened.at(-1)?.last.toISOString() ?? null,
      hours: hoursOf(now, served, opened),
      keys: (pools.get(upstream) ?? []).map((one) => reportOf(upstream, one)),
      failures: failures.filter((one) => one.upstream === upstream).slice(0, FAILURES),
    }
  })
}

/** The last 24 hours with those that had nothing, the present one last. */
function hoursOf(now: number, calls: UpstreamHour[], openings: OpeningsOfHour[]): HourReport[] {
  const present = now - (now % HOUR_MS)
  return Array.from({ length: HOURS }, (_, at) => {
    const begins = present - (HOURS - 1 - at) * HOUR_MS
    const of = <Row extends { hour: Date }>(rows: Row[]) => rows.find(({ hour }) => hour.getTime() === begins)
    const had = of(calls)
    return {
      hour: new Date(begins).toISOString(),
      calls: had?.calls ?? 0,
      failed: had?.failed ?? 0,
      openings: of(openings)?.openings ?? 0,
    }
  })
}

/** How long openings are stored, in days. */
const KEPT_DAYS = 7

/**
 * Notes that a circuit has opened in one worker. What is too old goes. A circuit that opens again and again while its
 * upstream is down is one row per minute.
 */
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
