/**
 * What a call asks of Postgres and Redis, counted by both, and how often a chunk is parsed as JSON: figures that do not
 * depend on the machine.
 */
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import pg from 'pg'

/**
 * Since the servers started. `statements`: each statement of a process is a transaction of its own, so commits count
 * them. `flushes`: of the write-ahead log. `walBytes`: written to it. `scripts`: of Lua; the commands within them are
 * not counted.
 */
type Totals = { statements: number; flushes: number; walBytes: number; scripts: number; publications: number }

/** The same of one call. */
export type Counts = Totals

/** The names of the counts, in the order of the report. */
export const COUNTS = ['statements', 'flushes', 'walBytes', 'scripts', 'publications'] as const

/** Postgres' backends report what they did after ten idle seconds at the latest; in ms. */
const REPORTED_AFTER_MS = 10_500

const pause = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms))

/**
 * Counts what `work` asks of both servers, by call, beyond what idle processes ask in the same time.
 * @param work returns how many calls it made.
 */
export async function countedBy(databaseUrl: string, redis: Redis, work: () => Promise<number>): Promise<Counts> {
  // What came before is reported by then.
  await pause(REPORTED_AFTER_MS)
  const idleSince = performance.now()
  const idle = await totals(databaseUrl, redis)
  await pause(REPORTED_AFTER_MS)
  const [began, before] = [performance.now(), await totals(databaseUrl, redis)]
  const calls = await work()
  await pause(REPORTED_AFTER_MS)
  const share = (performance.now() - began) / (began - idleSince)
  const after = await totals(databaseUrl, redis)
  const of = (name: keyof Totals): number => (after[name] - before[name] - (before[name] - idle[name]) * share) / calls
  return Object.fromEntries(COUNTS.map((name) => [name, of(name)])) as Counts
}

async function totals(databaseUrl: string, redis: Redis): Promise<Totals> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ commits: string; fsyncs: string; bytes: string }>(`
    SELECT (SELECT sum(xact_commit) FROM pg_stat_database) AS commits,
      (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS fsyncs,
      (SELECT wal_bytes FROM pg_stat_wal) AS bytes`)
  await client.end()
  const stats = await redis.info('commandstats')
  const of = (...commands: string[]): number =>
    commands.reduce((sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0), 0)
  return {
    statements: Number(rows[0]!.commits),
    flushes: Number(rows[0]!.fsyncs),
    walBytes: Number(rows[0]!.bytes),
    scripts: of('eval', 'evalsha'),
    publications: of('publish'),
  }
}

/** How often a process that counts its JSON writes the count, in ms. */
const WRITTEN_EVERY_MS = 250

/**
 * The environment of a process that counts how many chunks it has parsed, into a file of the folder. A chunk of the
 * bench's upstream has a delta that carries the moment at which it was written; it may be parsed alone or within other
 * text. The answer that they add up to has no delta: it is parsed once a call.
 */
export function countingJson(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true })
  const program = `
    import { writeFileSync } from 'node:fs'
    const { parse } = JSON
    let count = 0
    JSON.parse = (text, ...rest) => {
      if (typeof text === 'string' && text.includes('"delta"')) count += text.match(/@\\d+@/g)?.length ?? 0
      return parse(text, ...rest)
    }
    const file = ${JSON.stringify(folder)} + '/' + process.pid
    setInterval(() => writeFileSync(file, String(count)), ${WRITTEN_EVERY_MS}).unref()`
  return { NODE_OPTIONS: `--import "data:text/javascript;base64,${Buffer.from(program).toString('base64')}"` }
}

/** How many chunks each process has parsed, by its id, once it has written that. */
export async function jsonPasses(folder: string): Promise<Map<number, number>> {
  await pause(4 * WRITTEN_EVERY_MS)
  return new Map(readdirSync(folder).map((pid) => [Number(pid), Number(readFileSync(join(folder, pid), 'utf8'))]))
}
