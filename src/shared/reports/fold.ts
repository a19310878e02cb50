/** Adds ended calls to the hours of usage, which all reports read (docs/scaling.md#usage). */
import type { Db } from '../platform/postgres/db.ts'

/** How many calls one transaction folds: some 50 ms. */
const MOST = 5000

/** How long one run goes on, in ms: lost calls wait meanwhile. */
const LONGEST_MS = 500

/** Folds the calls that have ended, each exactly once (sql/fold_usage.sql). The next run continues. */
export async function foldUsage(db: Db): Promise<void> {
  const until = performance.now() + LONGEST_MS
  while (performance.now() < until) {
    const { rows } = await db.raw<{ rows: { more: boolean }[] }>('SELECT fold_usage(?) AS more', [MOST])
    if (!rows[0]!.more) return
  }
}

/** Seconds since the newest moment whose calls are folded. Above a minute, the worker that reconciles is not there. */
export async function usageLag(db: Db): Promise<number> {
  const row = await db('usage_watermark').first<{ seconds: number }>(
    db.raw(`least(extract(epoch FROM now() - folded_until), 1e9)::double precision AS seconds`),
  )
  return row!.seconds
}
