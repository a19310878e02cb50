import type { Mutant } from './mutant.ts'
import { ENQUEUED } from './killing-tests.ts'

const QUEUES = 'src/shared/queues.ts'
const REDIS = 'src/shared/platform/redis/redis.ts'

/** Bugs of a connection to Redis that is lost while a call is enqueued. */
export const ENQUEUING: readonly Mutant[] = [
  {
    name: 'a job is sent again by the library where its answer was lost',
    why: 'A job that has run meanwhile would be a fresh one, and its upstream asked twice.',
    edits: [
      {
        file: REDIS,
        find: 'maxRetriesPerRequest: 0,\n    commandTimeout',
        replace: 'maxRetriesPerRequest: 1,\n    commandTimeout',
      },
    ],
    tests: [ENQUEUED],
  },
  {
    name: 'a call that may have run is enqueued as a fresh one',
    why: 'Its begin is then written while its upstream is asked for the second time.',
    edits: [{ file: QUEUES, find: 'await add({ ...job, again: true })', replace: 'await add(job)' }],
    tests: [ENQUEUED],
  },
]
