/**
 * Whether a process can do its work (docs/architecture.md#stopping).
 */
import type { Redis } from 'ioredis'
import type { Db } from './db.ts'
import type { SchemaGate } from './schema.ts'

/** How long a look at Postgres or Redis may take, in ms. */
const PATIENCE_MS = 2000

/** What is looked at. */
export type Watched = { db: Db; redis: Redis; schema: SchemaGate }

/** What keeps a process from its work, by name: `postgres`, `redis`, or a `schema` that is not new enough. */
export async function unavailableServices({ db, redis, schema }: Watched): Promise<string[]> {
  const [postgres, queue, migrated] = await Promise.all([
    answers(db.raw('SELECT 1')),
    answers(redis.ping()),
    answers(schema.missing().then((missing) => (missing.length === 0 ? 'OK' : Promise.reject(new Error('behind'))))),
  ])
  return [
    ...(postgres ? [] : ['postgres']),
    ...(queue ? [] : ['redis']),
    // Of a Postgres that is away nobody knows the schema.
    ...(migrated || !postgres ? [] : ['schema']),
  ]
}

async function answers(probe: PromiseLike<unknown>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => {
    setTimeout(() => resolve(false), PATIENCE_MS).unref()
  })
  return Promise.race([
    Promise.resolve(probe).then(
      () => true,
      () => false,
    ),
    late,
  ])
}
