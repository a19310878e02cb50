/** Whether a process can do its work (docs/architecture.md#stopping). */
import type { Redis } from 'ioredis'
import { askForWrite } from '../postgres/db.ts'
import type { Db } from '../postgres/db.ts'
import { cachedReading } from './cached.ts'
import { askRedisForWrite } from '../redis/redis.ts'
import type { SchemaGate } from '../postgres/schema.ts'

/** How long a check of Postgres or Redis may take, in ms. */
const PATIENCE_MS = 2000

/** For how long a reading is the same for everybody, in ms: more callers cost no more. */
const CACHE_MS = 1000

/** What is checked. `prefix`: of this installation's keys in Redis. */
export type Watched = {
  db: Db
  redis: Redis
  prefix: string
  schema: SchemaGate
  catalogue: { version: () => number | null }
}

/**
 * Reads what keeps a process from its work, by name: a `postgres` or `redis` that takes no writes, a `schema` that is
 * not new enough, or a `catalogue` that is not there yet.
 */
export const readServices = (watched: Watched): (() => Promise<string[]>) =>
  cachedReading({ forMs: CACHE_MS, timesAsLong: 0 }, () => unavailableServices(watched))

async function unavailableServices({ db, redis, prefix, schema, catalogue }: Watched): Promise<string[]> {
  const [postgres, queue, migrated] = await Promise.all([
    answers(() => askForWrite(db)),
    answers(() => askRedisForWrite(redis, prefix)),
    answers(async () => {
      if ((await schema.missing()).length > 0) throw new Error('behind')
    }),
  ])
  const unavailable = [
    ...(postgres ? [] : ['postgres']),
    ...(queue ? [] : ['redis']),
    // Of a Postgres that is away nobody knows the schema.
    ...(migrated || !postgres ? [] : ['schema']),
  ]
  // A process reads its catalogue once everything else is there.
  return unavailable.length > 0 || catalogue.version() !== null ? unavailable : ['catalogue']
}

async function answers(probe: () => PromiseLike<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, PATIENCE_MS, false).unref()
    const say = (answer: boolean) => () => {
      clearTimeout(late)
      resolve(answer)
    }
    probe().then(say(true), say(false))
  })
}
