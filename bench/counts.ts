/**
 * What a call asks of Postgres and Redis, counted by both: whether the floor is fair.
 */
import type { Redis } from 'ioredis'
import pg from 'pg'

/** Since the servers started. `scripts`: of Lua; the commands within them are not counted. */
type Totals = { commits: number; walSyncs: number; scripts: number; publishes: number }

/** The same of one call. */
export type Counts = Totals

/** Postgres' backends report what they did after ten idle seconds at the latest; in ms. */
const REPORTED_AFTER_MS = 10_500

/**
 * Counts what `work` asks of both servers, by call, beyond what idle processes ask in the same time.
 * @param work answers how many calls it made.
 */
export async function countedBy(databaseUrl: string, redis: Redis, work: () => Promise<number>): Promise<Counts> {
  const pause = () => new Promise((resolve) => void setTimeout(resolve, REPORTED_AFTER_MS))
  // What came before is reported by then.
  await pause()
  const idleSince = performance.now()
  const idle = await totals(databaseUrl, redis)
  await pause()
  const [began, before] = [performance.now(), await totals(databaseUrl, redis)]
  const calls = await work()
  await pause()
  const share = (performance.now() - began) / (began - idleSince)
  const after = await totals(databaseUrl, redis)
  const of = (name: keyof Totals): number => (after[name] - before[name] - (before[name] - idle[name]) * share) / calls
  return { commits: of('commits'), walSyncs: of('walSyncs'), scripts: of('scripts'), publishes: of('publishes') }
}

async function totals(databaseUrl: string, redis: Redis): Promise<Totals> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ commits: string; syncs: string }>(`
    SELECT (SELECT sum(xact_commit) FROM pg_stat_database) AS commits,
      (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS syncs`)
  await client.end()
  const stats = await redis.info('commandstats')
  const of = (...commands: string[]): number =>
    commands.reduce((sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0), 0)
  return {
    commits: Number(rows[0]!.commits),
    walSyncs: Number(rows[0]!.syncs),
    scripts: of('eval', 'evalsha'),
    publishes: of('publish'),
  }
}
