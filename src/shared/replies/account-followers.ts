/** Followers of account changes: one Redis subscription per account, however many followers it has. */
import type { Redis } from 'ioredis'
import type { AccountId } from '../platform/ids.ts'
import type { AccountEvent } from './channels.ts'
import { accountOfChannel, eventChannel, parted } from './channels.ts'
import type { Publications } from './publisher.ts'

/** Called with each change; with null after a reconnect, when changes may have been missed. */
export type Follower = (event: AccountEvent | null) => void

/** The followers of one process. */
export class Followers {
  private readonly subscriber: Redis
  private readonly prefix: string
  private readonly publications: Pick<Publications, 'follow'>
  private readonly followers = new Map<AccountId, Set<Follower>>()
  private connected = false

  constructor(subscriber: Redis, prefix: string, publications: Pick<Publications, 'follow'>) {
    this.subscriber = subscriber
    this.prefix = prefix
    this.publications = publications
    subscriber.on('message', (channel: string, message: string) => {
      const account = accountOfChannel(prefix, channel)
      if (account === null) return
      const followers = this.followers.get(account) ?? []
      for (const event of parted(message).map((one) => JSON.parse(one) as AccountEvent))
        for (const follower of followers) follower(event)
    })
    subscriber.on('ready', () => {
      if (this.connected) for (const all of this.followers.values()) for (const follower of all) follower(null)
      this.connected = true
    })
  }

  /** Follows an account until the answered function is called. Nothing is missed once this is done. */
  async follow(account: AccountId, follower: Follower): Promise<() => void> {
    const all = this.followers.get(account) ?? new Set<Follower>()
    this.followers.set(account, all.add(follower))
    try {
      await this.subscriber.subscribe(eventChannel(this.prefix, account))
      await this.publications.follow(account)
    } catch (error) {
      this.leave(account, follower)
      throw error
    }
    return () => this.leave(account, follower)
  }

  private leave(account: AccountId, follower: Follower): void {
    const all = this.followers.get(account)
    if (!all?.delete(follower) || all.size > 0) return
    this.followers.delete(account)
    this.subscriber.unsubscribe(eventChannel(this.prefix, account)).catch(() => {})
  }
}
