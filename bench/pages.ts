/** What reading and retention take in full tables (bench/rows.ts). */
import { monthsOfCalls } from '../scripts/harness/months.ts'
import type { LoadedAccount } from '../scripts/harness/loaded-books.ts'
import { dropOldMonths } from '../src/shared/calls/months.ts'
import { allOf } from '../src/shared/identity/members.ts'
import { listEntries } from '../src/shared/ledger/ledger.ts'
import { newId } from '../src/shared/platform/ids.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { listAnyCalls } from '../src/shared/reports/all-calls.ts'
import type { CallPosition } from '../src/shared/reports/call-list.ts'
import { listCalls } from '../src/shared/reports/call-list.ts'
import { tallyLastDay } from '../src/shared/reports/last-day.ts'
import { usageByDay } from '../src/shared/reports/usage.ts'
import { median, say } from './stack.ts'

/** Adds up the calls that `loadHistory` has made, as the reconciler would have done, which takes a minute a million. */
export async function fillHours(db: Db): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.raw('SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on')
    await trx.raw(`SELECT FROM usage_watermark FOR UPDATE; DELETE FROM usage_hours`)
    await trx.raw(`UPDATE usage_watermark SET folded_until = now() - interval '2 seconds'`)
    await trx.raw(`
      INSERT INTO usage_hours SELECT * FROM calls_usage('-infinity', (SELECT folded_until FROM usage_watermark))`)
  })
  await db.raw('ANALYZE usage_hours')
}

const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)
const dateOf = (days: number) => daysAgo(days).toISOString().slice(0, 10)
const position = (days: number): CallPosition => ({ micros: daysAgo(days).getTime() * 1000, id: newId('call') })

/** Calls of an export. */
const EXPORTED = 10_000

/** What is read, of the account that has a tenth of all calls. */
const READS: Record<string, (db: Db, hot: LoadedAccount) => Promise<unknown>> = {
  'a page of calls': (db, { id }) => listCalls(db, allOf(id), {}, 50, null),
  'a page of calls of half a year ago': (db, { id }) => listCalls(db, allOf(id), {}, 50, position(180)),
  'a page of failed calls': (db, { id }) => listCalls(db, allOf(id), { status: 'failed' }, 50, null),
  'a page of the ledger': (db, { id }) => listEntries(db, id, 50, null),
  'usage of a year by day': (db, { id }) => usageByDay(db, allOf(id), dateOf(365), dateOf(0)),
  "a page of everybody's calls": (db) => listAnyCalls(db, {}, 50, null),
  "everybody's last day": (db) => tallyLastDay(db, 5),
  [`an export of ${EXPORTED} calls`]: async (db, { id }) => {
    let after: CallPosition | null = null
    for (let rows = 0; rows < EXPORTED; rows += 500) {
      const page = await listCalls(db, allOf(id), {}, 500, after)
      if ((after = page.next) === null) return
    }
  },
}

/** How often each is read. */
const TIMES = 9

/** Prints what each read takes, in ms, with few and with many rows. */
export async function printPages(sides: { rows: number; db: Db; accounts: LoadedAccount[] }[]): Promise<void> {
  for (const [what, read] of Object.entries(READS)) {
    const taken: number[] = []
    for (const { db, accounts } of sides) {
      const times: number[] = []
      for (let nth = 0; nth < TIMES; nth++) {
        const began = performance.now()
        await read(db, accounts[0]!)
        times.push(performance.now() - began)
      }
      taken.push(median(times))
    }
    const [few, many] = taken
    console.log(`${what.padEnd(36)} ${few!.toFixed(1).padStart(8)} ms ${many!.toFixed(1).padStart(8)} ms`)
  }
}

/**
 * Drops the oldest month with calls while others run, and prints how long that took, and how long those took.
 * @param days how old its calls are at least; months that ended a month earlier have none
 * @param calls runs calls for some seconds, and returns the 99th percentile of their latency in ms
 */
export async function dropAMonth(db: Db, days: number, calls: () => Promise<number>): Promise<void> {
  await dropOldMonths(db, days + 31)
  const usual = await calls()
  const before = await monthsOfCalls(db)
  const loaded = calls()
  await new Promise((resolve) => setTimeout(resolve, 2500))
  const began = performance.now()
  await dropOldMonths(db, days)
  const ms = performance.now() - began
  const dropped = before.length - (await monthsOfCalls(db)).length
  if (dropped === 0) say('no month could be dropped')
  console.log(
    `${dropped} month(s) dropped in ${ms.toFixed(0)} ms; p99 of calls meanwhile ${(await loaded).toFixed(1)} ms, ` +
      `else ${usual.toFixed(1)} ms`,
  )
}
