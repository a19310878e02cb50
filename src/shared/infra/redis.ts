/**
 * Redis connections. Redis is dispatch only: nothing in it decides about money, and it may be flushed at any time.
 */
import { Redis } from 'ioredis'
import type { RedisOptions } from 'ioredis'
import type { Config } from '../config.ts'

type RedisConfig = Pick<Config, 'REDIS_URL' | 'REDIS_TLS_VERIFY'>

/** At most a second between two tries to connect: the library's own back-off reaches many seconds. */
const retryStrategy = (times: number) => Math.min(50 * 2 ** Math.min(times, 10), 1000)

/**
 * A connection on which the commands of one turn of the event loop leave in one write. Each write costs a system call,
 * and wakes Redis up: a call has several commands, and a busy process many calls in a turn. The library's own
 * auto-pipelining costs more than it saves here: it builds an object with all of BullMQ's scripts on it for every turn.
 */
class TurnwiseRedis extends Redis {
  private gathering = false

  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const { stream } = this
    if (stream && !this.gathering) {
      this.gathering = true
      stream.cork()
      setImmediate(() => {
        this.gathering = false
        stream.uncork()
      })
    }
    return super.sendCommand(...args)
  }
}

function connect(config: RedisConfig, options: Omit<RedisOptions, 'replyMapping'>): Redis {
  const tls = config.REDIS_URL.startsWith('rediss:')
    ? { tls: { rejectUnauthorized: config.REDIS_TLS_VERIFY === 'on' } }
    : {}
  const redis = new TurnwiseRedis(config.REDIS_URL, { retryStrategy, connectTimeout: 2000, ...tls, ...options })
  // Without a listener a lost connection would end the process. Each command reports its own error.
  redis.on('error', () => {})
  return redis
}

/** For requests: a command fails at once while Redis is away, so that the client gets its 503 before any charge. */
export function connectProducer(config: RedisConfig): Redis {
  return connect(config, { enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: 3000 })
}

/** For workers and subscribers: commands wait until Redis is back. */
export function connectPersistent(config: RedisConfig): Redis {
  return connect(config, { maxRetriesPerRequest: null })
}

/**
 * A connection for one look, which is not made again. It connects when it is asked to.
 * @returns with the first error that it has met: what Redis says against a password comes before the connection's end.
 */
export function connectOnce(config: RedisConfig): { redis: Redis; firstError: () => Error | undefined } {
  const errors: Error[] = []
  const redis = connect(config, {
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
  })
  redis.on('error', (error: Error) => errors.push(error))
  return { redis, firstError: () => errors[0] }
}

/** The eviction policy of a Redis; null where it hides its settings. */
export async function evictionPolicyOf(redis: Redis): Promise<string | null> {
  const answer: unknown = await redis.config('GET', 'maxmemory-policy').catch(() => null)
  const policy = Array.isArray(answer) ? answer[1] : (answer as Record<string, string> | null)?.['maxmemory-policy']
  return policy ? String(policy) : null
}
