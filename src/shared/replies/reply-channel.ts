/**
 * The reply channel: how the worker that ended a call reaches the web process that waits for it, without polling.
 *
 * Each web process subscribes to one Redis channel of its own and names it on the calls it opens. The worker publishes
 * there after its commit. A lost message does no harm: the rows of all calls that are waited for are read after every
 * reconnect and every few seconds, in one statement. A request that waits for a call that another process opened
 * listens to the account's events.
 */
import type { Redis } from 'ioredis'
import type { AccountId, CallId } from '../platform/ids.ts'
import type { Answer, LongAnswer } from '../calls/stored-answers.ts'
import type { AccountEvent, CallUpdate, Reply } from './channels.ts'
import { cancelChannel, readReplies, replyChannel, accountOfChannel, eventChannel, parted } from './channels.ts'
import { Publications } from './publisher.ts'
import { reportDefect } from '../platform/process/defects.ts'
import { hasEnded } from '../terms/lifecycle.ts'
import type { Ended } from '../calls/types.ts'

/** Pauses after a reconnect at which the waiting calls' rows are read, in ms. */
const RECHECK_AFTER_MS = [50, 1000, 3000, 8000]

/** How often they are read in any case, in ms: a worker may die between its commit and its reply. */
const RECHECK_EVERY_MS = 5000

/** How long after a deadline, and then how often, a waiter checks whether its call has been ended, in ms. */
const OVERDUE_CHECK_MS = 4000

/** How often overdue waiters are searched, in ms: one timer for all, and none of its own for each call. */
const OVERDUE_EVERY_MS = 500

/** Reads a call's answer from its row: null while it is open. When `overdue` it may end the call first. */
export type ReadAnswer = (callId: CallId, overdue: boolean) => Promise<Answer | LongAnswer | null>

/** Which of these calls have ended. */
type FindEnded = (callIds: CallId[]) => Promise<CallId[]>

/**
 * Ends a call of a stream by what this process has delivered of it, because its worker was lost, or is `overdue`; null
 * if that does not decide how it ends, or it had ended before.
 */
export type EndDelivered = (overdue: boolean) => Promise<Ended | null>

/** A wait for one call. `cancel` forgets it; the call goes on. */
export type Wait = { answer: Promise<Answer | LongAnswer>; cancel: () => void }

/** `overdueAt`: when its call is checked next as one that is late, by `performance.now()`. */
type Waiter = {
  resolve: (answer: Answer | LongAnswer) => void
  onUpdate: (update: CallUpdate) => void
  onOver: () => void
  endDelivered: EndDelivered | null
  overdueAt: number
}

type Options = {
  subscriber: Redis
  publisher: Redis
  prefix: string
  /** This process's own name, given to `calls.open` as `replyTo`. */
  address: string
  readAnswer: ReadAnswer
  findEnded: FindEnded
}

/** The web's side: who waits for which call. */
export class Replies {
  readonly address: string
  private readonly options: Options
  private readonly waiters = new Map<CallId, Set<Waiter>>()
  private readonly publications: Publications
  /** Who follows the changes of an account, on the same connection. */
  readonly followers: Followers
  private ticks: NodeJS.Timeout[] = []
  private readonly ending = new Set<CallId>()

  constructor(options: Options) {
    this.options = options
    this.address = options.address
    const own = replyChannel(options.prefix, options.address)
    this.publications = new Publications(options.publisher, options.prefix)
    this.followers = new Followers(options.subscriber, options.prefix, this.publications)
    options.subscriber.on('message', (channel: string, message: string) => {
      if (channel === own) for (const reply of readReplies(message)) this.onReply(reply)
    })
    options.subscriber.on('ready', () => this.recheckSoon())
  }

  /** Begins to listen; requests are served only after it. */
  async start(): Promise<void> {
    if (this.ticks.length === 0) {
      this.ticks.push(setInterval(() => this.recheckLater(), RECHECK_EVERY_MS).unref())
      this.ticks.push(setInterval(() => this.checkOverdue(), OVERDUE_EVERY_MS).unref())
    }
    this.publications.listen(this.options.subscriber)
    await this.options.subscriber.subscribe(replyChannel(this.options.prefix, this.address))
  }

  /**
   * Waits for a call that this process opens. To be called before its job is enqueued: the answer may come at once.
   * `onOver` is called once, when it is not waited for any more; `endDelivered` when its worker was lost, or has not
   * ended it in time.
   */
  expect(
    callId: CallId,
    deadlineInMs: number,
    onUpdate: (update: CallUpdate) => void = () => {},
    onOver: () => void = () => {},
    endDelivered: EndDelivered | null = null,
  ): Wait {
    return this.wait(callId, deadlineInMs, { onUpdate, onOver, endDelivered })
  }

  /**
   * Waits for a call that may belong to another process, or to none any more. `onOver` is called once, when nobody
   * waits; `onBegun` when a worker begins the call. Further updates go to the process that opened it alone.
   */
  async join(
    callId: CallId,
    accountId: AccountId,
    deadlineInMs: number,
    onOver: () => void = () => {},
    onBegun: () => void = () => {},
  ): Promise<Wait> {
    const leave = await this.followers
      .follow(accountId, (event) => {
        if (event?.callId === callId && event.status === 'running') onBegun()
        this.onEvent(event)
      })
      .catch((error: unknown) => {
        onOver()
        throw error
      })
    const wait = this.wait(callId, deadlineInMs, {
      onUpdate: () => {},
      onOver: () => {
        leave()
        onOver()
      },
      endDelivered: null,
    })
    // It may have ended before the subscription was there.
    await this.checkCall(callId, false)
    return wait
  }

  /** Notifies the workers that the client of a chat stream has disconnected. */
  async cancel(callId: CallId): Promise<void> {
    await this.options.publisher.publish(cancelChannel(this.options.prefix), callId)
  }

  /**
   * Publishes a change that this process made to the followers of an account. Never fails: a page can always be
   * reloaded.
   */
  publishEvent(account: AccountId, event: AccountEvent): void {
    this.publications.event(account, event)
  }

  /** Checks whether calls that are waited for have ended without a reply. Never throws. */
  async recheck(): Promise<void> {
    if (this.waiters.size === 0) return
    const ended = await this.options.findEnded([...this.waiters.keys()]).catch(() => [])
    await Promise.all(ended.map((callId) => this.checkCall(callId, false)))
  }

  /** Drops every wait and stops the regular checks, because the process is stopping. */
  stop(): void {
    this.ticks.forEach(clearInterval)
    for (const [callId, waiters] of this.waiters) for (const waiter of waiters) this.forget(callId, waiter)
  }

  /** How many calls are waited for. */
  waiting(): number {
    return this.waiters.size
  }

  private onReply(reply: Reply): void {
    if (reply.kind === 'end') this.resolveAll(reply.callId, reply.answer)
    else if (reply.kind === 'stored') this.checkCall(reply.callId, false).catch(reportDefect)
    else if (reply.update.type === 'lost') this.endLost(reply.callId, false).catch(reportDefect)
    else for (const waiter of this.waiters.get(reply.callId) ?? []) waiter.onUpdate(reply.update)
  }

  private onEvent(event: AccountEvent | null): void {
    if (event?.callId && hasEnded(event.status) && this.waiters.has(event.callId))
      this.checkCall(event.callId, false).catch(reportDefect)
  }

  private resolveAll(callId: CallId, answer: Answer | LongAnswer): void {
    for (const waiter of this.waiters.get(callId) ?? []) {
      this.forget(callId, waiter)
      waiter.resolve(answer)
    }
  }

  private checkOverdue(): void {
    const now = performance.now()
    for (const [callId, waiters] of this.waiters) {
      for (const waiter of waiters) {
        if (waiter.overdueAt > now) continue
        waiter.overdueAt = now + OVERDUE_CHECK_MS
        this.endLost(callId, true).catch(reportDefect)
      }
    }
  }

  /**
   * Ends a call whose worker was lost, or that is `overdue`: what was delivered here decides, before anything else is
   * done with it. Never throws.
   */
  async endLost(callId: CallId, overdue: boolean): Promise<void> {
    if (this.ending.has(callId)) return
    this.ending.add(callId)
    try {
      for (const { endDelivered } of this.waiters.get(callId) ?? []) {
        const ended = await endDelivered?.(overdue).catch(() => null)
        if (!ended) continue
        this.publishEvent(ended.accountId, { callId, status: ended.status, balance: ended.balance })
        return this.resolveAll(callId, ended.answer)
      }
    } finally {
      this.ending.delete(callId)
    }
    await this.checkCall(callId, overdue)
  }

  /** Never throws: while Postgres is down, the next check decides. */
  private async checkCall(callId: CallId, overdue: boolean): Promise<void> {
    const answer = await this.options.readAnswer(callId, overdue).catch(() => null)
    if (answer) this.resolveAll(callId, answer)
  }

  /** After a (re)connect: answers may have been published while nobody listened. */
  private recheckSoon(): void {
    for (const pause of RECHECK_AFTER_MS) setTimeout(() => this.recheckLater(), pause).unref()
  }

  private recheckLater(): void {
    this.recheck().catch(reportDefect)
  }

  private wait(
    callId: CallId,
    deadlineInMs: number,
    listeners: Pick<Waiter, 'onUpdate' | 'onOver' | 'endDelivered'>,
  ): Wait {
    const all = this.waiters.get(callId) ?? new Set<Waiter>()
    this.waiters.set(callId, all)
    const waiter: Waiter = {
      overdueAt: performance.now() + deadlineInMs + OVERDUE_CHECK_MS,
      ...listeners,
      resolve: () => {},
    }
    all.add(waiter)
    return {
      answer: new Promise((resolve) => {
        waiter.resolve = resolve
      }),
      cancel: () => this.forget(callId, waiter),
    }
  }

  private forget(callId: CallId, waiter: Waiter): void {
    const all = this.waiters.get(callId)
    if (!all?.delete(waiter)) return
    if (all.size === 0) this.waiters.delete(callId)
    waiter.onOver()
  }
}

/** Called with each change; with null after a reconnect, when changes may have been missed. */
export type Follower = (event: AccountEvent | null) => void

/** The followers of one process: one Redis subscription per account, however many followers it has. */
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
