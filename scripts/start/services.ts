import { startPostgres } from '../services/postgres.ts'
import { redisProgram, startRedis } from '../services/redis.ts'
import { shown } from './data-folder.ts'

/** A service that this start runs, or that the environment names. */
export type Service = {
  url: string
  /** A description for people. */
  about: string
  /** The server that this start runs; absent for one of the environment. */
  own?: { process: { pid: number; startedAt: string }; stop(): Promise<void> }
}

type OnDeath = (reason: string) => void

/** The Postgres of this start: that of DATABASE_URL, or an embedded one over the data folder. */
export async function postgresFor(folder: string, say: (line: string) => void, onDeath: OnDeath): Promise<Service> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, about: 'from DATABASE_URL' }
  const postgres = await startPostgres({
    folder,
    port: 5432,
    say,
    onDeath: (log) => onDeath(`Postgres ended. Its last lines:\n${log}`),
  })
  return { url: postgres.url, about: `127.0.0.1:${postgres.port}, data in ${shown(postgres.data)}`, own: postgres }
}

/**
 * The Redis of this start: that of REDIS_URL, or a private one. Jobs have prompts in them, so it stores nothing on
 * disk; Postgres has what the next start needs.
 */
export async function redisFor(folder: string, say: (line: string) => void, onDeath: OnDeath): Promise<Service> {
  const given = process.env['REDIS_URL']
  if (given) return { url: given, about: 'from REDIS_URL' }
  const program = await redisProgram(say)
  const redis = await startRedis({
    program,
    folder,
    port: 6379,
    onDeath: (log) => onDeath(`Redis ended. Its last lines:\n${log}`),
  })
  return { url: redis.url, about: `${program} on 127.0.0.1:${redis.port}`, own: redis }
}
