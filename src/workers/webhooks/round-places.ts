/**
 * The places for rounds of webhooks (docs/webhooks.md#lanes). Each lane has places of its own, shared out among
 * accounts, so that receivers that hang hold no place that others need.
 */
import type { Job } from 'bullmq'
import type { Config } from '../../shared/platform/config/config.ts'
import type { Queues, WebhookJob } from '../../shared/queues.ts'
import { MAX_WEBHOOKS } from '../../shared/webhooks/webhooks.ts'
import { QueuePlaces } from '../queue-places.ts'

type Settings = Pick<Config, 'ACCOUNT_SHARE' | 'WEBHOOKS_CONCURRENCY'>

/** What one account may have of the places of a lane, as a part of ACCOUNT_SHARE: by default a twelfth, 4 of 50. */
const ROUNDS_PART = 1 / 6

const slowPlaces = (config: Settings): number => Math.ceil(config.WEBHOOKS_CONCURRENCY / 2)

/** The most rounds at once in a process: both lanes full, and those of the operators, which need no place. */
export const roundsAtOnce = (config: Settings): number =>
  config.WEBHOOKS_CONCURRENCY + slowPlaces(config) + MAX_WEBHOOKS

/** The places of this process, none taken yet. */
export function createRoundPlaces(config: Settings, queues: Pick<Queues, 'queue'>) {
  const placesOf = (total: number) =>
    new QueuePlaces(config.ACCOUNT_SHARE * ROUNDS_PART, total, () => queues.queue('webhooks'))
  const [healthy, slow] = [placesOf(config.WEBHOOKS_CONCURRENCY), placesOf(slowPlaces(config))]
  return {
    /** Does a round in a place of its account and lane. @throws DelayedError as `QueuePlaces.within` */
    within: (job: Job<WebhookJob>, token: string | undefined, round: () => Promise<void>): Promise<void> => {
      const { accountId, isSlow } = job.data
      return accountId === null ? round() : (isSlow ? slow : healthy).within(job, token, accountId, round)
    },
  }
}
