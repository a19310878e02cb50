/**
 * Whether a process can do its work (docs/architecture.md#stopping).
 */
import type { Redis } from 'ioredis'
import type { Db } from './db.ts'

/** How long a look at Postgres or Redis may take, in ms. */
const PATIENCE_MS = 2000

/** The names of the services that do not answer: none, when the process is ready. */
export async function unavailableServices({ db, redis }: { db: Db; redis: Redis }): Promise<string[]> {
  const [postgres, queue] = await Promise.all([answers(db.raw('SELECT 1')), answers(redis.ping())])
  return [...(postgres ? [] : ['postgres']), ...(queue ? [] : ['redis'])]
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
