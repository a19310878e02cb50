/** Redis connections. Redis is dispatch only: nothing in it decides about money, and it may be flushed at any time. */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { RedisOptions } from 'ioredis'
import type { Config } from '../config/config.ts'
import { isNetworkFailure } from '../postgres/db.ts'
import { randomUUID } from 'node:crypto'

type RedisConfig = Pick<Config, 'REDIS_URL' | 'REDIS_TLS_VERIFY'>

/** The most between two tries to connect, in ms: the library's own back-off reaches many seconds. */
const MOST_PAUSE_MS = 1000

/**
 * How long a server may be silent while it owes an answer, in ms: one that vanished closes no connection. A worker's
 * connection may wait for a job for 10 s.
 */
const SILENCE_MS = { producer: 5000, persistent: 15_000 }

/**
 * How often a connection that only listens asks for a write, in ms: it would not notice that its server was replaced.
 */
const ASK_EVERY_MS = 1000

/** A refusal in Redis's words: of a command, or of one within a script, which Redis 6 quotes after a `-`. */
const refusal = (...codes: string[]): RegExp => new RegExp(`(?:^|-)(?:${codes.join('|')})\\b`)

/**
 * The refusals of a server that is no primary any more, lacks its data, or lets this user do less than at the start.
 */
const LEFT = refusal('READONLY', 'MASTERDOWN', 'LOADING', 'CLUSTERDOWN', 'UNBLOCKED', 'NOPERM')

const AWAY = [
  refusal('READONLY', 'MASTERDOWN', 'LOADING', 'CLUSTERDOWN', 'UNBLOCKED', 'NOREPLICAS', 'BUSY', 'MISCONF', 'OOM'),
  /^(Connection is closed|Command timed out|Stream isn't writeable|Socket timeout)|max number of clients/,
  /^Redis (connection (to|is not ready)|client is not ready)|max retries per request/,
]

/** Whether an error means that Redis cannot be reached, or takes nobody's commands or writes now. */
export const isRedisUnavailable = (error: Error): boolean =>
  isNetworkFailure(error) || error.name === 'MaxRetriesPerRequestError' || AWAY.some((text) => text.test(error.message))

/** Whether Redis refuses a command for what this user may do, or because the key belongs to another server. */
export const isRedisRefusing = (error: Error): boolean => refusal('NOPERM', 'MOVED', 'ASK').test(error.message)

/**
 * When a connection is made again. One to a server that refuses what a primary would do is dropped, since its address
 * may lead to the primary by now, and made again after a second: trying again at once has no effect.
 */
function comingBack(): Pick<RedisOptions, 'reconnectOnError' | 'retryStrategy'> {
  let leftAt = Number.NEGATIVE_INFINITY
  return {
    reconnectOnError: ({ message }) => {
      const leaves = LEFT.test(message)
      if (leaves) leftAt = performance.now()
      return leaves
    },
    retryStrategy: (times) =>
      performance.now() - leftAt < MOST_PAUSE_MS
        ? MOST_PAUSE_MS
        : Math.min(50 * 2 ** Math.min(times, 10), MOST_PAUSE_MS),
  }
}

/** Writes a key of its own, which ends by itself. @throws where Redis takes no writes, or is away */
export async function askRedisForWrite(redis: Redis, prefix: string): Promise<void> {
  await redis.set(`${prefix}:asked-for-write`, '1', 'PX', 60_000)
}

/**
 * A connection on which the commands of one turn of the event loop are sent in one write. Each write costs a system
 * call, and wakes Redis up: a call has several commands, and a busy process many calls in a turn. The library's own
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
  const redis = new TurnwiseRedis(config.REDIS_URL, { ...comingBack(), connectTimeout: 2000, ...tls, ...options })
  // Without a listener a lost connection would end the process. Each command reports its own error.
  redis.on('error', () => {})
  return redis
}

/**
 * For requests: a command fails at once while Redis is away, so that the client gets its 503 before any charge. So does
 * one whose answer was lost with its connection: sent again by the library, it could be executed twice.
 */
export function connectProducer(config: RedisConfig): Redis {
  return connect(config, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 3000,
    socketTimeout: SILENCE_MS.producer,
  })
}

/** How long a lost connection is waited for, in ms: it is made again after 100. */
const RETURN_MS = 1000

/** Whether a connection that was lost is made again within RETURN_MS. False at once where it was not lost. */
export async function comesBack(redis: Redis): Promise<boolean> {
  if (redis.status === 'ready') return false
  const until = performance.now() + RETURN_MS
  do await pause(20)
  while ((redis.status as string) !== 'ready' && performance.now() < until)
  return (redis.status as string) === 'ready'
}

/** For workers: commands wait until Redis is back. */
export const connectPersistent = (config: RedisConfig): Redis =>
  connect(config, { maxRetriesPerRequest: null, socketTimeout: SILENCE_MS.persistent })

/** For those who listen: subscriptions wait until Redis is back, and are moved to where its address leads. */
export function connectSubscriber(config: RedisConfig & Pick<Config, 'REDIS_PREFIX'>): Redis {
  const redis = connectPersistent(config)
  const asking = setInterval(() => {
    if (redis.status === 'ready') askRedisForWrite(redis, config.REDIS_PREFIX).catch(() => {})
  }, ASK_EVERY_MS).unref()
  redis.once('end', () => clearInterval(asking))
  return redis
}

/**
 * A connection for one check, which is not made again. It connects when `connect` is called.
 * @returns with the first error that it has met: a refused password is reported before the connection ends.
 */
export function connectOnce(config: RedisConfig): { redis: Redis; firstError: () => Error | undefined } {
  const errors: Error[] = []
  const redis = connect(config, {
    lazyConnect: true,
    retryStrategy: () => null,
    reconnectOnError: null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
  })
  redis.on('error', (error: Error) => errors.push(error))
  return { redis, firstError: () => errors[0] }
}

/** The eviction policy of a Redis; null if it hides its settings. */
export async function evictionPolicyOf(redis: Redis): Promise<string | null> {
  const answer: unknown = await redis.config('GET', 'maxmemory-policy').catch(() => null)
  const policy = Array.isArray(answer) ? answer[1] : (answer as Record<string, string> | null)?.['maxmemory-policy']
  return policy ? String(policy) : null
}

type Command = [name: string, ...args: (string | number)[]]

/**
 * A command of each kind that the queues, their scripts, limits and notices use (BullMQ 6, `dist/cjs/commands`), over
 * keys and a channel of its own. In this order none waits for another client.
 */
function neededCommands(own: string): Command[] {
  const [text, hash, list, set, sorted, stream] = ['text', 'hash', 'list', 'set', 'sorted', 'stream'].map(
    (kind) => `${own}:${kind}`,
  ) as [string, string, string, string, string, string]
  return [
    ['INFO', 'server'],
    ['CLIENT', 'SETNAME', 'tollgate'],
    ['SET', text, '1', 'PX', 10_000],
    ['INCR', text],
    ['GET', text],
    ['PEXPIRE', text, 10_000],
    ['HSET', hash, 'a', '1'],
    ['HGETALL', hash],
    ['HDEL', hash, 'a'],
    ['LPUSH', list, '1'],
    ['LREM', list, 0, '1'],
    ['SADD', set, '1'],
    ['ZADD', sorted, 1, '1', 2, '2'],
    ['ZRANGE', sorted, 0, -1],
    ['ZPOPMIN', sorted],
    ['BZPOPMIN', sorted, 0.01],
    ['XADD', stream, 'MAXLEN', '~', 1, '*', 'a', '1'],
    ['EVAL', "return redis.call('EXISTS', KEYS[1])", 1, text],
    ['MULTI'],
    ['EXEC'],
    ['DEL', text, hash, list, set, sorted, stream],
    ['PUBLISH', own, '1'],
    ['PUBSUB', 'NUMSUB', own],
    // From here on the connection may only listen.
    ['SUBSCRIBE', own],
  ]
}

/**
 * Runs a command of each kind that is needed, over a connection that is used for nothing after it: a worker whose user
 * is refused a command would try it again without end.
 * @returns the first that this user may not run, and Redis' message; null if it may run all
 * @throws every other error of Redis
 */
export async function missingPermission(
  redis: Redis,
  prefix: string,
): Promise<{ command: string; says: string } | null> {
  const own = `${prefix}:look:${randomUUID()}`
  const commands = neededCommands(own)
  const answers = await Promise.allSettled(commands.map(([name, ...args]) => redis.call(name, ...args)))
  for (const [at, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') continue
    const { message } = answer.reason as Error
    if (!message.startsWith('NOPERM')) throw answer.reason
    const [name, second] = commands[at]!
    return { command: name === 'CLIENT' || name === 'PUBSUB' ? `${name} ${second}` : name, says: message }
  }
  return null
}
