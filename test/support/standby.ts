import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { privateFolder, startPrivatePostgres } from '../../scripts/harness/services.ts'
import type { Postgres } from '../../scripts/services/postgres.ts'
import { writePrivately } from '../../scripts/services/secrets.ts'
import { until } from '../../scripts/harness/until.ts'

/** A primary, and a hot standby that follows it. */
export type PostgresPair = {
  primary: Postgres
  standby: Postgres
  /** Makes the standby a primary that has all of the other one, which takes no more writes and cuts nobody off. */
  failOver: () => Promise<void>
  stop: () => Promise<void>
}

/** Starts both. `prepare` fills the primary before it is copied. */
export async function startPostgresPair(prepare: (url: string) => Promise<void>): Promise<PostgresPair> {
  const primary = await startPrivatePostgres()
  await prepare(primary.url)
  const { port, password } = new URL(primary.url)
  const folder = privateFolder()
  // Both have one password: it is in the data that are copied.
  writePrivately(join(folder, 'postgres-password'), password)
  const settings = { primary_conninfo: `host=127.0.0.1 port=${port} user=tollgate password=${password}` }
  const standby = await startPrivatePostgres({ folder, settings })
  await Promise.all([standby.stop(), primary.stop()])
  rmSync(standby.data, { recursive: true })
  // The data belong to another user where root runs this.
  execFileSync('cp', ['-a', primary.data, standby.data])
  execFileSync('cp', ['-a', join(standby.data, 'PG_VERSION'), join(standby.data, 'standby.signal')])
  await primary.start()
  await standby.start()
  const pair = { primary, standby }
  return { ...pair, failOver: () => failOver(pair), stop: () => stopAll([standby, primary]) }
}

const stopAll = async (servers: Postgres[]) => {
  for (const server of servers) await server.stop('immediate')
}

async function failOver({ primary, standby }: Pick<PostgresPair, 'primary' | 'standby'>): Promise<void> {
  const [old, next] = [new pg.Client(primary.url), new pg.Client(standby.url)]
  await Promise.all([old.connect(), next.connect()])
  await old.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await old.query('SELECT pg_reload_conf()')
  await until('the standby to have all', async () => {
    const { rows } = await old.query<{ end: string }>('SELECT pg_current_wal_lsn() AS end')
    const { rows: replayed } = await next.query<{ has: boolean }>(
      'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has',
      [rows[0]!.end],
    )
    return replayed[0]!.has
  })
  await next.query('SELECT pg_promote()')
  await Promise.all([old.end(), next.end()])
}
