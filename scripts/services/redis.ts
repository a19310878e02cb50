import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import { LocalServer } from './local-server.ts'
import type { Lifetime } from './local-server.ts'
import { findProgram } from './processes.ts'
import type { ProcessMark } from './processes.ts'
import { installRedis } from './redis-apt.ts'
import { chooseRedis, redisEnvironment } from './redis-ladder.ts'
import { keptSecret } from './secrets.ts'

/** How to run a private Redis or Valkey. */
export type RedisOptions = {
  /** The server program. */
  program: string
  /** The folder of its data, password and log, made if missing. */
  folder: string
  /** The first port to try; the next free one is used. 0 or absent: any. */
  port?: number
  /** Whether its data are written to disk, each second, and survive a restart. */
  durable?: boolean
  /** How many numbered databases it has; 16 by default. */
  databases?: number
  lifetime?: Lifetime
  /** Called when it ends unexpectedly, with the last lines of its log. */
  onDeath?: (log: string) => void
}

/** The oldest release that has the commands of BullMQ and Tollgate. */
const oldest = [6, 2] as const

/** Throws an Error when the server program is too old: below Redis 6.2 (every Valkey is newer). */
export function requireVersion(program: string): void {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const found = /v=(\d+)\.(\d+)/.exec(stdout ?? '')
  if (found === null) throw new Error(`${program} --version does not answer as a Redis does: "${stdout?.trim()}"`)
  const [major, minor] = [Number(found[1]), Number(found[2])]
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return
  const needed = `Redis ${oldest.join('.')} or newer is needed: update it, or set REDIS_URL`
  throw new Error(`${program} is version ${major}.${minor}; ${needed}`)
}

/**
 * The path of a Redis or Valkey server on this machine. If there is no such server and this process can install one, it
 * does; `say` then gets a line. Throws an Error with instructions.
 */
export async function redisProgram(say: (line: string) => void): Promise<string> {
  const source = chooseRedis(redisEnvironment())
  if (source.from === 'nowhere') throw new Error(source.message)
  if (source.from === 'program') return source.path
  say('there is no Redis on this machine: apt-get install redis-server (for its program; no service is started)')
  await installRedis()
  const program = findProgram('redis-server')
  if (program === undefined) throw new Error('redis-server was installed, but is not on the PATH')
  return program
}

/**
 * A private Redis that listens only on 127.0.0.1, behind a password. Made by `startRedis`. A restart keeps its port,
 * and its data if it is durable: then `stop` writes them to disk.
 */
export class PrivateRedis extends LocalServer {
  private readonly password: string

  /** Used by `startRedis`. `running` is a server that runs already. */
  constructor(options: RedisOptions, password: string, running?: { process: ProcessMark; port: number }) {
    super(
      {
        name: 'Redis',
        // Its settings come on standard input: every user could read a password among the arguments.
        command: () => [options.program, '-'],
        input: (port) => settingsOf(options, port, password),
        log: join(resolve(options.folder), 'redis.log'),
        firstPort: options.port ?? 0,
        lifetime: options.lifetime ?? 'with-starter',
        stopSignal: 'SIGTERM',
        ready: (port) => answers(port, password),
        passing: { portTaken: /Address already in use|Could not create server TCP/i },
        onDeath: options.onDeath,
      },
      running,
    )
    this.password = password
  }

  /** Its address, password included. */
  get url(): string {
    return `redis://:${this.password}@127.0.0.1:${this.port}`
  }
}

function settingsOf({ folder, durable = false, databases = 16 }: RedisOptions, port: number, password: string): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'daemonize no',
    `dir ${JSON.stringify(dataOf(folder))}`,
    // Jobs are not a cache: a Redis that evicts keys would lose them.
    'maxmemory-policy noeviction',
    'save ""',
    `databases ${databases}`,
    ...(durable ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
  ].join('\n')
}

function dataOf(folder: string): string {
  return join(resolve(folder), 'redis')
}

async function answers(port: number, password: string): Promise<boolean> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    password,
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    // It refuses while it still loads its data.
    return (await client.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}

/** Starts a private Redis. Throws an Error if the program is older than Redis 6.2, or does not come up. */
export async function startRedis(options: RedisOptions): Promise<PrivateRedis> {
  requireVersion(options.program)
  mkdirSync(dataOf(options.folder), { recursive: true, mode: 0o700 })
  const redis = new PrivateRedis(options, keptSecret(join(resolve(options.folder), 'redis-password')))
  await redis.start()
  return redis
}
