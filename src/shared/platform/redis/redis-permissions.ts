/**
 * What a user of Redis must be allowed to do. A worker whose user is refused a command would try it again without end.
 */
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

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
 * Runs a command of each kind that is needed, over a connection that is used for nothing after it.
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
