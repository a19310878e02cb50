import { findProgram } from './processes.ts'

/** Where a private Redis comes from. */
export type RedisSource = { from: 'program'; path: string } | { from: 'apt' } | { from: 'nowhere'; message: string }

/** What the choice depends on. */
export type RedisEnvironment = {
  platform: NodeJS.Platform
  /** Whether this process may install packages. */
  isRoot: boolean
  /** Finds a program on the PATH. */
  find: (name: string) => string | undefined
}

/** The surroundings of this process. */
export function redisEnvironment(): RedisEnvironment {
  return { platform: process.platform, isRoot: process.getuid?.() === 0, find: (name) => findProgram(name) }
}

function advice({ platform, find }: RedisEnvironment): string {
  const own = 'or set REDIS_URL to a Redis (6.2 or newer) or Valkey of your own'
  if (platform === 'darwin') return `run "brew install redis", ${own}`
  if (find('apt-get') !== undefined) return `run "sudo apt-get install redis-server", ${own}`
  if (find('dnf') !== undefined) return `run "sudo dnf install valkey" (or redis), ${own}`
  if (find('docker') !== undefined) {
    const command = 'docker run -d -p 127.0.0.1:6379:6379 redis --maxmemory-policy noeviction'
    return `run "${command}" and set REDIS_URL=redis://127.0.0.1:6379, ${own}`
  }
  return `install redis-server with this system's package manager, ${own}`
}

/**
 * The source of Redis without a REDIS_URL: a server program on the PATH, else Debian's package where this process can
 * install it, else a sentence with instructions. No npm package has a Redis that runs everywhere.
 */
export function chooseRedis(at: RedisEnvironment): RedisSource {
  const path = at.find('redis-server') ?? at.find('valkey-server')
  if (path !== undefined) return { from: 'program', path }
  if (at.isRoot && at.platform === 'linux' && at.find('apt-get') !== undefined) return { from: 'apt' }
  return { from: 'nowhere', message: `there is no Redis on this machine: ${advice(at)}` }
}
