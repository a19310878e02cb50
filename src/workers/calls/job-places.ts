/**
 * The places of this process' queues, shared out among accounts (`platform/places.ts`). A job whose account has its
 * share here waits in Redis, not in a place that others need (docs/operations.md#scale).
 */
import type { Job } from 'bullmq'
import type { Config } from '../../shared/platform/config/config.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import type { Queues } from '../../shared/queues.ts'
import type { Modality } from '../../shared/terms/lifecycle.ts'
import { QueuePlaces } from '../queue-places.ts'

/** What `createJobPlaces` returns. */
export type JobPlaces = ReturnType<typeof createJobPlaces>

/** What a job has to say. */
type Placed = { accountId: AccountId }

type Settings = Pick<
  Config,
  | 'ACCOUNT_SHARE'
  | 'CHAT_CONCURRENCY'
  | 'IMAGE_CONCURRENCY'
  | 'VIDEO_CONCURRENCY'
  | 'EMBEDDING_CONCURRENCY'
  | 'MODERATION_CONCURRENCY'
  | 'RERANK_CONCURRENCY'
  | 'SPEECH_CONCURRENCY'
  | 'TRANSCRIPTION_CONCURRENCY'
>

/** The places of this process, none taken yet. */
export function createJobPlaces(config: Settings, queues: Pick<Queues, 'queue'>) {
  const placesOf = (modality: Modality, total: number) =>
    new QueuePlaces(config.ACCOUNT_SHARE, total, () => queues.queue(modality))
  const places: Record<Modality, QueuePlaces> = {
    chat: placesOf('chat', config.CHAT_CONCURRENCY),
    image: placesOf('image', config.IMAGE_CONCURRENCY),
    video: placesOf('video', config.VIDEO_CONCURRENCY),
    embedding: placesOf('embedding', config.EMBEDDING_CONCURRENCY),
    moderation: placesOf('moderation', config.MODERATION_CONCURRENCY),
    rerank: placesOf('rerank', config.RERANK_CONCURRENCY),
    speech: placesOf('speech', config.SPEECH_CONCURRENCY),
    transcription: placesOf('transcription', config.TRANSCRIPTION_CONCURRENCY),
  }
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
