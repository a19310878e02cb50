/** Upstreams as operators see them: what their calls came to, and when their circuits opened. */
import type { UpstreamHour } from '../reports/last-day.ts'
import { upstreamHours, upstreamsOfLastHour } from '../reports/last-day.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { OpeningsOfHour } from './circuits.ts'
import { openingsOfDay } from './circuits.ts'

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
}

const HOUR_MS = 3_600_000
const HOURS = 24

/** Every upstream that had calls in the last 24 hours, or whose circuit opened in them, by name. */
export async function reportUpstreams(db: Db, now = Date.now()): Promise<UpstreamReport[]> {
  const [last, calls, openings] = await Promise.all([upstreamsOfLastHour(db), upstreamHours(db), openingsOfDay(db)])
  const names = new Set([...last, ...calls, ...openings].map(({ upstream }) => upstream))
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
