/** Postgres as a process uses it: one pool, and the verbs of calls over it. */
import type { Config } from '../platform/config/config.ts'
import { connectDb } from '../platform/postgres/db.ts'
import { Calls } from './calls.ts'
import type { CallsObserver } from './observer.ts'

/** The verbs of calls over a new pool. @param observer measures them. */
export function openDatabase(config: Config, observer?: CallsObserver) {
  const db = connectDb(config)
  const calls = new Calls(
    db,
    { resultSeconds: config.RESULT_TTL_SECONDS, maxOutstanding: config.MAX_OUTSTANDING_CALLS },
    observer,
  )
  return { db, calls }
}
