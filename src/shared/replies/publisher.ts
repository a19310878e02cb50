/**
 * What is published for web processes and followers: one message per moment and channel; and the worker's side of it.
 */
import type { Redis } from 'ioredis'
import { SUCCESS } from '../platform/errors.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import type { Answer, LongAnswer } from '../calls/stored-answers.ts'
import type { BegunCall, Ended } from '../calls/types.ts'
import type { CallUpdate, Chunks, AccountEvent } from './channels.ts'
import {
  cancelChannel,
  endOf,
  writeChunks,
  writeReply,
  accountOfChannel,
  eventChannel,
  followChannel,
  joined,
  replyChannel,
} from './channels.ts'
import { LRUCache } from 'lru-cache'

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

/** The worker's side: see `Publications`. */
export function createPublisher(redis: Redis, prefix: string) {
  const publications = new Publications(redis, prefix)
  return {
    /** From now on does not publish events without a subscriber. */
    listen(subscriber: Redis): void {
      publications.listen(subscriber)
    },
    /** Publishes the answer to the waiting web process, and the end of the call to the account's followers. */
    async ended({ replyTo, callId, accountId, status, balance, answer }: Ended<Answer | LongAnswer>): Promise<void> {
      failpoint('reply.publishing', callId)
      publications.event(accountId, { callId, status, balance })
      await publications.reply(replyTo, writeReply(endOf(callId, answer)))
      failpoint('reply.published', callId)
    },
    /** Publishes to the account's followers that its balance has changed. In credits. */
    balance(accountId: AccountId, balance: number): void {
      publications.event(accountId, { callId: null, balance })
    },
    /** Publishes the count of a request's input to the web process that waits for it; null: it is unknown. */
    async counted({ callId, replyTo }: { callId: CallId; replyTo: string }, tokens: number | null): Promise<void> {
      const answer = { status: SUCCESS, body: JSON.stringify(tokens) }
      await publications.reply(replyTo, writeReply({ callId, kind: 'end', answer }))
    },
    /** Publishes an update of a running call. */
    async update(replyTo: string, callId: CallId, update: CallUpdate): Promise<void> {
      await publications.reply(replyTo, writeReply({ callId, kind: 'update', update }))
    },
    /** Publishes chunks of streams to the web process that sends them on. */
    async chunks(replyTo: string, parts: readonly Chunks[]): Promise<void> {
      await publications.reply(replyTo, writeChunks(parts))
    },
    /** Publishes to the waiting web process and the account's followers that a worker has begun the call. */
    async begun({ replyTo, id, accountId }: Pick<BegunCall, 'replyTo' | 'id' | 'accountId'>): Promise<void> {
      publications.event(accountId, { callId: id, status: 'running', balance: null })
      await publications.reply(replyTo, writeReply({ callId: id, kind: 'update', update: { type: 'running' } }))
    },
  }
}

/** What `createPublisher` returns. */
export type Publisher = ReturnType<typeof createPublisher>

/**
 * Runs `onCancel` for every call whose streaming client has disconnected: the worker that holds it stops the upstream's
 * work.
 */
export function listenForCancels(subscriber: Redis, prefix: string, onCancel: (callId: CallId) => void): void {
  subscriber.on('message', (channel: string, message: string) => {
    if (channel === cancelChannel(prefix)) onCancel(message as CallId)
  })
  // A subscription waits for the connection; only the end of the process ends that.
  subscriber.subscribe(cancelChannel(prefix)).catch(() => {})
}
