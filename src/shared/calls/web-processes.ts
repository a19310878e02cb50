/**
 * Which web processes live. A request dies with its process and leaves no word; so each process gives a sign of life, by which a retry
 * tells the answers that a dead process sent from those that it did not.
 */
import type { Redis } from 'ioredis'
import { replyChannel } from './channels.ts'
import type { DeadProcess } from './retries.ts'

/** A sign of life comes this often, in ms. */
const SIGN_EVERY_MS = 1000

/** How long the last sign of a process is kept, in ms: longer than a retry looks back. */
const KEPT_MS = 15 * 60_000

/** The signs of life of all web processes, in one Redis hash. */
export class WebProcesses {
  private readonly redis: Redis
  private readonly prefix: string
  private readonly address: string
  private readonly key: string
  private ticks: NodeJS.Timeout | undefined

  /** @param address this process's own. */
  constructor(redis: Redis, prefix: string, address: string) {
    this.redis = redis
    this.prefix = prefix
    this.address = address
    this.key = `${prefix}:web-processes`
  }

  /** Begins to give signs of life. */
  start(): void {
    const sign = () => void this.redis.hset(this.key, this.address, Date.now()).catch(() => {})
    this.ticks ??= setInterval(sign, SIGN_EVERY_MS).unref()
    sign()
  }

  /** Every request of this process was answered, or is known to have gone: it leaves nothing to look for. Never throws. */
  async stop(): Promise<void> {
    clearInterval(this.ticks)
    await this.redis.hdel(this.key, this.address).catch(() => {})
  }

  /**
   * The processes that no longer listen, of these addresses and of all that have ever given a sign of life.
   * @throws where Redis cannot be reached.
   */
  async findDead(addresses: readonly string[]): Promise<DeadProcess[]> {
    const signs = await this.redis.hgetall(this.key)
    const others = [...new Set([...addresses, ...Object.keys(signs)])].filter((address) => address !== this.address)
    if (others.length === 0) return []
    const listeners = await this.redis.pubsub('NUMSUB', ...others.map((address) => replyChannel(this.prefix, address)))
    const dead = others
      .filter((_, at) => Number(listeners[2 * at + 1]) === 0)
      .map((address) => ({ address, lastSeenMs: signs[address] === undefined ? null : Number(signs[address]) }))
    await this.forget(dead)
    return dead
  }

  private async forget(dead: readonly DeadProcess[]): Promise<void> {
    const old = dead.filter(({ lastSeenMs }) => lastSeenMs !== null && lastSeenMs < Date.now() - KEPT_MS)
    if (old.length > 0) await this.redis.hdel(this.key, ...old.map(({ address }) => address))
  }
}
