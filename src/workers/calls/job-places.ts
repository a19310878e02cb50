/**
 * The places of this process' queues, shared out among accounts (`platform/places.ts`). A job whose account has its
 * share here waits in Redis, not in a place that others need (docs/operations.md#scale).
 */
import type { Job } from 'bullmq'
import type { Config } from '../../shared/platform/config/config.ts'
import { jobsAtOnce } from '../../shared/platform/config/config.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import type { Queues } from '../../shared/queues.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { mapKinds } from '../../shared/terms/kinds.ts'
import { QueuePlaces } from '../queue-places.ts'

/** What `createJobPlaces` returns. */
export type JobPlaces = ReturnType<typeof createJobPlaces>

/** The field of a job that is needed. */
type Placed = { accountId: AccountId }

/** The places of this process, none taken yet. */
export function createJobPlaces(config: Config, queues: Pick<Queues, 'queue'>) {
  const places = mapKinds(
    (_kind, modality) =>
      new QueuePlaces(config.ACCOUNT_SHARE, jobsAtOnce(config, modality), () => queues.queue(modality)),
  )
  return {
    /**
     * Does the work of a job in a place of its account.
     * @throws DelayedError where the account has its share: the job is parked, comes back when one of the account's
     * places here is free, and by itself some seconds later
     */
    within: (job: Job<Placed>, token: string | undefined, work: () => Promise<void>): Promise<void> =>
      places[job.queueName as Modality].within(job, token, job.data.accountId, work),
  }
}
