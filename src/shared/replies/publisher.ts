/** The worker's side of the reply channel. */
import type { Redis } from 'ioredis'
import { SUCCESS } from '../platform/errors.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import type { Answer, LongAnswer } from '../calls/stored-answers.ts'
import type { BegunCall, Ended } from '../calls/types.ts'
import type { CallUpdate, Chunks } from './channels.ts'
import { cancelChannel, endOf, writeChunks, writeReply } from './channels.ts'
import { Publications } from './publications.ts'

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
