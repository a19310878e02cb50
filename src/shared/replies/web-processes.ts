/**
 * Heartbeats of web processes. A process that is killed takes its waiting requests with it without a trace. Its last
 * heartbeat shows a retry which answers it can have sent and which it cannot.
 */
import type { Redis } from 'ioredis'
import { replyChannel } from './channels.ts'
import type { DeadProcess } from '../calls/numbered-retries.ts'

/** How often a process sends a heartbeat, in ms. */
const HEARTBEAT_EVERY_MS = 1000

/** How long the last heartbeat of a process is stored, in ms: longer than retries go back. */
const LISTED_MS = 15 * 60_000

/** The heartbeats of all web processes, in one Redis hash. */
export class WebProcesses {
  private readonly redis: Redis
  private readonly prefix: string
  private readonly address: string
  private readonly key: string
  private ticks: NodeJS.Timeout | undefined
  private wasKnown = false
  private onForgotten = (): void => {}

  /** @param address this process's own. */
  constructor(redis: Redis, prefix: string, address: string) {
    this.redis = redis
    this.prefix = prefix
    this.address = address
    this.key = `${prefix}:web-processes`
  }

  /**
   * Starts the heartbeat. The first one is sent as soon as there is a connection, before anything else of this process:
   * one that dies in its first second must be known too.
   * @param onForgotten is called when Redis has lost what it had, jobs and all: it does not know this process any more
   */
  start(onForgotten: () => void = () => {}): void {
    this.onForgotten = onForgotten
    this.ticks ??= setInterval(this.beat, HEARTBEAT_EVERY_MS).unref()
    this.redis.on('ready', this.beat)
    this.beat()
  }

  private readonly beat = (): void => {
    this.redis.hset(this.key, this.address, Date.now()).then(
      (added) => {
        if (added === 1 && this.wasKnown) this.onForgotten()
        this.wasKnown = true
      },
      () => {},
    )
  }

  /**
   * Ends the heartbeat and removes it: every request of this process was answered or marked as abandoned. Never throws.
   */
  async stop(): Promise<void> {
    clearInterval(this.ticks)
    this.redis.off('ready', this.beat)
    await this.redis.hdel(this.key, this.address).catch(() => {})
  }

  /**
   * The processes that are gone, among these addresses and all that have ever sent a heartbeat.
   * @throws where Redis cannot be reached.
   */
  async findDead(addresses: readonly string[]): Promise<DeadProcess[]> {
    const heartbeats = await this.redis.hgetall(this.key)
    const others = [...new Set([...addresses, ...Object.keys(heartbeats)])].filter(
      (address) => address !== this.address,
    )
    if (others.length === 0) return []
    const listeners = await this.redis.pubsub('NUMSUB', ...others.map((address) => replyChannel(this.prefix, address)))
    const dead = others
      .filter((_, at) => Number(listeners[2 * at + 1]) === 0)
      .map((address) => ({
        address,
        lastSeenMs: heartbeats[address] === undefined ? null : Number(heartbeats[address]),
      }))
    await this.forget(dead)
    return dead
  }

  private async forget(dead: readonly DeadProcess[]): Promise<void> {
    const old = dead.filter(({ lastSeenMs }) => lastSeenMs !== null && lastSeenMs < Date.now() - LISTED_MS)
    if (old.length > 0) await this.redis.hdel(this.key, ...old.map(({ address }) => address))
  }
}
