/** What one process publishes to web processes and to the followers of accounts. */
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { AccountId } from '../platform/ids.ts'
import type { AccountEvent } from './channels.ts'
import { accountOfChannel, eventChannel, followChannel, joined, replyChannel } from './channels.ts'

/** For how long an account counts as one that nobody follows, in ms, and how many accounts are remembered so. */
const UNHEARD = { ttl: 5000, max: 10_000 }

/**
 * Publishes over one connection. Messages of the same moment to the same channel are sent as one, ahead of every
 * command that their publisher sends after its next await. Publishing never fails a call: requests that wait for one
 * read its row too.
 */
export class Publications {
  private readonly redis: Pick<Redis, 'publish'>
  private readonly prefix: string
  private waiting = new Map<string, string[]>()
  private sent = Promise.resolve()
  private readonly unheard = new LRUCache<AccountId, true>(UNHEARD)
  private isListening = false
  private announcements = 0

  constructor(redis: Pick<Redis, 'publish'>, prefix: string) {
    this.redis = redis
    this.prefix = prefix
  }

  /**
   * From now on events without a subscriber are not published. New followers announce themselves; where announcements
   * may be missed, all events are published.
   */
  listen(subscriber: Pick<Redis, 'on' | 'subscribe'>): void {
    const channel = followChannel(this.prefix)
    const start = (): void => {
      subscriber.subscribe(channel).then(
        () => this.restart(true),
        () => {},
      )
    }
    subscriber.on('message', (from: string, account: string) => {
      if (from !== channel) return
      this.announcements++
      this.unheard.delete(account as AccountId)
    })
    subscriber.on('close', () => this.restart(false))
    subscriber.on('ready', start)
    start()
  }

  /** Publishes a reply to a web process. @returns when Redis has it, or has failed to take it */
  reply(address: string, text: string): Promise<void> {
    return this.publish(replyChannel(this.prefix, address), text)
  }

  /** Publishes a change of an account, if anybody follows it. */
  event(account: AccountId, event: AccountEvent): void {
    if (this.isListening && this.unheard.has(account)) return
    this.publish(eventChannel(this.prefix, account), JSON.stringify(event)).catch(() => {})
  }

  /** Announces that this process follows an account. @returns when every publisher that listens has been sent it */
  async follow(account: AccountId): Promise<void> {
    await this.redis.publish(followChannel(this.prefix), account).catch(() => {})
  }

  private publish(channel: string, text: string): Promise<void> {
    // As a microtask it precedes everything after the next await of the publisher.
    if (this.waiting.size === 0) this.sent = Promise.resolve().then(() => this.send())
    const parts = this.waiting.get(channel)
    if (parts) parts.push(text)
    else this.waiting.set(channel, [text])
    return this.sent
  }

  private async send(): Promise<void> {
    const { waiting, announcements } = this
    this.waiting = new Map()
    const messages = [...waiting].map(async ([channel, parts]) => {
      const listeners = await this.redis.publish(channel, joined(parts)).catch(() => null)
      const account = accountOfChannel(this.prefix, channel)
      // A follower may have come meanwhile.
      if (listeners === 0 && account !== null && announcements === this.announcements) this.unheard.set(account, true)
    })
    await Promise.all(messages)
  }

  private restart(isListening: boolean): void {
    this.isListening = isListening
    this.announcements++
    this.unheard.clear()
  }
}
