/**
 * Turns of processes that migrate one database at once, and locks that are requested without stopping the service: a
 * wait for a table's lock blocks every later request for it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Knex } from 'knex'

// An arbitrary number, the same in every process that migrates.
const MIGRATION_LOCK = 7_604_113

/** How long a lock of a table is waited for, while nobody waits behind it. */
const LOCK_TIMEOUT = '2s'

/** How often to check whether somebody waits behind it, in ms. */
const LOOK_MS = 100

/** Pauses between two tries, in ms, and how long to go on trying. */
const PAUSE_MS = { turn: 100, lock: 1000 }
const PATIENCE_MS = 10 * 60_000

// Another one holds the lock; or we gave way, or were the victim of a deadlock.
const TRY_AGAIN = new Set(['55P03', '57014', '40P01'])

export class MigrationLock {
  private readonly db: Knex
  private readonly say: (waitsFor: string) => void
  private readonly giveUpAt = performance.now() + PATIENCE_MS

  /** @param say gets a line once for every wait. */
  constructor(db: Knex, say: (waitsFor: string) => void) {
    this.db = db
    this.say = say
  }

  /**
   * Runs work in a transaction while nobody else migrates; it is run again if a lock is not available, or others had to
   * wait behind it.
   */
  async turn<T>(name: string, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
    return this.persist(name, async () => {
      const ended = new AbortController()
      let watching: Promise<void> | undefined
      try {
        return await this.db.transaction(async (trx) => {
          await trx.raw('SET LOCAL statement_timeout = 0')
          if (!(await isOurs(trx.raw('SELECT pg_try_advisory_xact_lock(?) AS ours', [MIGRATION_LOCK])))) return null
          await trx.raw(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
          watching = giveWay(this.db, await processOf(trx), ended.signal)
          return { result: await work(trx) }
        })
      } finally {
        ended.abort()
        await watching
      }
    })
  }

  /**
   * Builds an index while the service runs, in time in proportion to the table. The remains of an interrupted build are
   * removed first.
   */
  async build(index: string, statement: string): Promise<void> {
    await this.persist(index, async () => {
      const connection: unknown = await this.db.client.acquireConnection()
      const run = (sql: string) => this.db.raw(sql).connection(connection)
      const mine = `${MIGRATION_LOCK}`
      try {
        if (!(await isOurs(run(`SELECT pg_try_advisory_lock(${mine}) AS ours`)))) return null
        await run('SET statement_timeout = 0')
        const { rows } = (await run(
          `SELECT FROM pg_index WHERE indexrelid = to_regclass('${index}') AND NOT indisvalid`,
        )) as { rows: unknown[] }
        if (rows.length > 0) await run(`DROP INDEX CONCURRENTLY ${index}`)
        await run(statement)
        return { result: undefined }
      } finally {
        // Settings and locks are the session's.
        await run('RESET statement_timeout')
        await run(`SELECT pg_advisory_unlock(${mine})`)
        await this.db.client.releaseConnection(connection)
      }
    })
  }

  /** Tries until it is our turn and every lock was to be had. `attempt` answers null where it is not our turn. */
  private async persist<T>(name: string, attempt: () => Promise<{ result: T } | null>): Promise<T> {
    let reported = false
    for (;;) {
      const waits = await attempt().then(
        (done) => done ?? PAUSE_MS.turn,
        (error: unknown) => {
          const again = TRY_AGAIN.has(String((error as { code?: unknown }).code)) && performance.now() < this.giveUpAt
          if (!again) throw error
          return PAUSE_MS.lock
        },
      )
      if (typeof waits !== 'number') return waits.result
      if (!reported) this.say(name)
      reported = true
      await pause(waits * (0.5 + Math.random()))
    }
  }
}

/**
 * Cancels what a transaction waits for as soon as others wait behind it, until it has ended. Needs a second connection;
 * without one the time-out alone ends the wait.
 */
async function giveWay(db: Knex, pid: number, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await pause(LOOK_MS, undefined, { signal: ended }).catch(() => {})
    if (ended.aborted) return
    await db
      .raw(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ? AND wait_event_type = 'Lock'
         AND EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted AND ? = ANY (pg_blocking_pids(l.pid)))`,
        [pid, pid],
      )
      .catch(() => {})
  }
}

const processOf = async (trx: Knex): Promise<number> =>
  ((await trx.raw('SELECT pg_backend_pid() AS pid')) as { rows: { pid: number }[] }).rows[0]!.pid

async function isOurs(asked: PromiseLike<unknown>): Promise<boolean> {
  return ((await asked) as { rows: { ours: boolean }[] }).rows[0]!.ours
}
