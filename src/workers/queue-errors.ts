/** How the queues' own errors are logged. */
import type { QueueName } from '../shared/terms/kinds.ts'
import type { Log } from '../shared/platform/process/log.ts'
import { isRedisAway, isRedisRefusing } from '../shared/platform/redis/redis.ts'

/** How often an unreachable Redis is logged, in ms: each connection of each queue tries again every second. */
const SAY_EVERY_MS = 30_000

const LOCKED_OUT = /^(WRONGPASS|NOAUTH)/

/**
 * Logs an error of a queue. That Redis is unreachable, rejects the password or refuses a command, is logged once for
 * all queues, and again every 30 s while it lasts.
 */
export function logQueueErrors(log: Log): (queue: QueueName, error: Error) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return (queue, error) => {
    if (isRedisAway(error) || isRedisRefusing(error) || LOCKED_OUT.test(error.message)) {
      if (performance.now() - saidAt < SAY_EVERY_MS) return
      saidAt = performance.now()
    }
    log.warn({ queue, err: error }, 'queue error')
  }
}
