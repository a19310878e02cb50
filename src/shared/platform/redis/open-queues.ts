/** How queues are opened: their options, times and counts. Their jobs are in `src/shared/queues.ts`. */
import { Queue } from 'bullmq'
import type { JobsOptions } from 'bullmq'
import type { Redis } from 'ioredis'

/**
 * Ended jobs are removed at once: prompts must not stay in Redis. A defect is tried again twice, then the reconciler
 * ends its call; failures of upstreams never reach the queue.
 */
const JOB_OPTIONS: JobsOptions = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 500 },
  removeOnComplete: true,
  removeOnFail: true,
}

/** The default fails a job on its second crash; the call's row decides what may still be done, not this counter. */
export const MAX_STALLED_COUNT = 1000

/** The producer side of queues by name, each opened when it is first used, over one connection that fails fast. */
export function openQueues<QueueName extends string>(connection: Redis, prefix: string) {
  const open = new Map<QueueName, Queue>()
  const queue = (name: QueueName): Queue => {
    let found = open.get(name)
    if (!found) {
      const streams = { events: { maxLen: 100 } }
      found = new Queue(name, { connection, prefix, defaultJobOptions: JOB_OPTIONS, streams })
      // Each command reports its own error; without a listener a lost connection would end the process.
      found.on('error', () => {})
      open.set(name, found)
    }
    return found
  }

  return {
    /** One queue, for the dashboard, metrics and workers' own jobs. */
    queue,

    /** How many jobs wait for a worker. */
    async depth(name: QueueName): Promise<number> {
      const { waiting = 0, prioritized = 0 } = await queue(name).getJobCounts('waiting', 'prioritized')
      return waiting + prioritized
    },

    /** How many jobs wait for a worker, are active in one, or are delayed until their time. */
    async jobCounts(name: QueueName): Promise<{ waiting: number; active: number; delayed: number }> {
      const counts = await queue(name).getJobCounts('waiting', 'prioritized', 'active', 'delayed')
      const { waiting = 0, prioritized = 0, active = 0, delayed = 0 } = counts
      return { waiting: waiting + prioritized, active, delayed }
    },

    /** Closes the queues; the connection is its owner's. */
    close: () => Promise.all([...open.values()].map((one) => one.close())),
  }
}
