/**
 * The way back: from the worker that ended a call to the web process that waits for it, without polling.
 *
 * Each web process subscribes to one Redis channel of its own and names it on the calls it opens. The worker publishes
 * there after its commit. A message that is lost costs nothing: the row has the truth, and the waiter reads it after every
 * reconnect and at the call's deadline. Whoever waits for a call that another process opened listens to the account's events.
 */
import type { Redis } from 'ioredis'
import type { AccountId, CallId } from '../ids.ts'
import type { Answer } from './answers.ts'
import type { Ended } from './calls.ts'
import type { CallStatus } from './lifecycle.ts'

/** What a worker tells of a call while it runs. `chunk` is one line of a chat stream, JSON text. */
export type CallNews = { type: 'running' } | { type: 'progress'; progress: number } | { type: 'chunk'; data: string }

/** A change of an account's calls, for whoever follows them. Credits. */
export type AccountEvent = { callId: CallId; status: CallStatus; balance: number | null }

const replyChannel = (prefix: string, address: string) => `${prefix}:reply:${address}`
const eventChannel = (prefix: string, account: AccountId) => `${prefix}:events:${account}`

/** The worker's side. Publishing never fails a call: a lost message is found by the waiter. */
export function createPublisher(redis: Redis, prefix: string) {
  const publish = async (channel: string, message: string): Promise<void> => {
    await redis.publish(channel, message).catch(() => {})
  }
  return {
    /** Tells the waiting web process the answer, and the account's followers that the call has ended. */
    async ended({ replyTo, callId, accountId, status, balance, answer }: Ended): Promise<void> {
      const event: AccountEvent = { callId, status, balance }
      await Promise.all([
        publish(replyChannel(prefix, replyTo), `${callId} end ${answer.status} ${answer.body}`),
        publish(eventChannel(prefix, accountId), JSON.stringify(event)),
      ])
    },
    /** Passes on what happens while the call runs. */
    async news(replyTo: string, callId: CallId, news: CallNews): Promise<void> {
      await publish(replyChannel(prefix, replyTo), `${callId} news ${JSON.stringify(news)}`)
    },
    /** Tells the account's followers of a change that is no end. */
    async changed(accountId: AccountId, event: AccountEvent): Promise<void> {
      await publish(eventChannel(prefix, accountId), JSON.stringify(event))
    },
  }
}

export type Publisher = ReturnType<typeof createPublisher>

/** Pauses after a reconnect at which the waiting calls' rows are read, in ms (design section 5). */
const RECHECK_AFTER_MS = [50, 1000, 3000, 8000]

/** How long after a deadline, and then how often, a waiter looks whether its call was ended by somebody, in ms. */
const OVERDUE_CHECK_MS = 4000

type Waiter = {
  accountId: AccountId
  resolve: (answer: Answer) => void
  onNews: (news: CallNews) => void
  timer: NodeJS.Timeout
}

/** Reads a call's answer from its row: null while it is open. At `overdue` it may end the call first. */
export type ReadAnswer = (callId: CallId, overdue: boolean) => Promise<Answer | null>

/** A wait for one call. `cancel` forgets it; the call goes on. */
export type Wait = { answer: Promise<Answer>; cancel: () => void }

export type Replies = ReturnType<typeof createReplies>

/**
 * The web's side.
 * @param address this process's own name, given to `calls.open` as `replyTo`.
 */
export function createReplies(options: { subscriber: Redis; prefix: string; address: string; readAnswer: ReadAnswer }) {
  const { subscriber, prefix, address, readAnswer } = options
  const waiters = new Map<CallId, Set<Waiter>>()
  const followed = new Map<AccountId, number>()
  let connectedBefore = false

  function settleAll(callId: CallId, answer: Answer): void {
    for (const waiter of waiters.get(callId) ?? []) waiter.resolve(answer)
  }

  /** Never throws: while Postgres is away the next look will tell. */
  async function lookAt(callId: CallId, overdue: boolean): Promise<void> {
    const answer = await readAnswer(callId, overdue).catch(() => null)
    if (answer) settleAll(callId, answer)
  }

  function recheckAll(): void {
    for (const pause of RECHECK_AFTER_MS) {
      setTimeout(() => {
        for (const callId of waiters.keys()) void lookAt(callId, false)
      }, pause).unref()
    }
  }

  function onReply(message: string): void {
    const callId = message.slice(0, 36) as CallId
    if (message.startsWith('end ', 37)) {
      settleAll(callId, { status: Number(message.slice(41, 44)), body: message.slice(45) })
    } else {
      const news = JSON.parse(message.slice(42)) as CallNews
      for (const waiter of waiters.get(callId) ?? []) waiter.onNews(news)
    }
  }

  function onEvent(message: string): void {
    const event = JSON.parse(message) as AccountEvent
    if (event.status === 'succeeded' || event.status === 'failed') {
      if (waiters.has(event.callId)) void lookAt(event.callId, false)
    }
  }

  subscriber.on('message', (channel: string, message: string) => {
    if (channel === replyChannel(prefix, address)) onReply(message)
    else onEvent(message)
  })
  subscriber.on('ready', () => {
    if (connectedBefore) recheckAll()
    connectedBefore = true
  })

  async function follow(account: AccountId): Promise<void> {
    const count = (followed.get(account) ?? 0) + 1
    followed.set(account, count)
    if (count === 1) await subscriber.subscribe(eventChannel(prefix, account))
  }

  function unfollow(account: AccountId): void {
    const count = (followed.get(account) ?? 1) - 1
    if (count > 0) {
      followed.set(account, count)
      return
    }
    followed.delete(account)
    void subscriber.unsubscribe(eventChannel(prefix, account)).catch(() => {})
  }

  function wait(callId: CallId, accountId: AccountId, deadlineInMs: number, onNews: (news: CallNews) => void, forget: () => void): Wait {
    let waiter: Waiter | undefined
    const cancel = () => {
      if (!waiter) return
      clearTimeout(waiter.timer)
      const all = waiters.get(callId)
      all?.delete(waiter)
      if (all?.size === 0) waiters.delete(callId)
      waiter = undefined
      forget()
    }
    const answer = new Promise<Answer>((resolve) => {
      const checkOverdue = (): NodeJS.Timeout => setTimeout(() => {
        void lookAt(callId, true).finally(() => {
          if (waiter) waiter.timer = checkOverdue()
        })
      }, OVERDUE_CHECK_MS)
      const timer = setTimeout(() => {
        if (waiter) waiter.timer = checkOverdue()
      }, Math.max(0, deadlineInMs))
      waiter = { accountId, onNews, timer, resolve: (value) => { cancel(); resolve(value) } }
      const all = waiters.get(callId) ?? new Set()
      waiters.set(callId, all.add(waiter))
    })
    return { answer, cancel }
  }

  return {
    address,

    /** Begins to listen; requests are served only after it. */
    start: async (): Promise<void> => {
      await subscriber.subscribe(replyChannel(prefix, address))
    },

    /** Waits for a call that this process opens. Call it before the job is enqueued: an answer may come at once. */
    expect: (callId: CallId, accountId: AccountId, deadlineInMs: number, onNews: (news: CallNews) => void = () => {}): Wait =>
      wait(callId, accountId, deadlineInMs, onNews, () => {}),

    /** Waits for a call that may belong to another process, or to none any more. */
    async join(callId: CallId, accountId: AccountId, deadlineInMs: number): Promise<Wait> {
      await follow(accountId)
      const joined = wait(callId, accountId, deadlineInMs, () => {}, () => unfollow(accountId))
      // It may have ended before the subscription stood.
      await lookAt(callId, false)
      return joined
    },

    /** How many calls are waited for: what a stopping process still has to answer. */
    waiting: (): number => waiters.size,
  }
}
