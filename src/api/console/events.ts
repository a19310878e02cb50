/**
 * GET /api/events: an account's calls and balance as they change, as server-sent events. `account` carries the
 * state of the account, `call` a changed call's record; `refresh`: changes may have been missed; `signed_out`: the
 * session has ended.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from 'koa'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import { findSession } from '../../shared/identity/sessions.ts'
import { roleOf } from '../../shared/identity/users.ts'
import { seenBy } from '../../shared/identity/members.ts'
import { summaryOf } from '../../shared/identity/summary.ts'
import type { AccountEvent } from '../../shared/replies/channels.ts'
import { findRecords } from '../../shared/reports/call-records.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { CallId } from '../../shared/platform/ids.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import { events } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { onFinished } from '../server/on-finished.ts'
import { Quota } from '../endpoint/quota.ts'
import type { EventStream } from '../v1/calls/event-stream.ts'
import { beginEventStream } from '../v1/calls/event-stream.ts'
import { session, bearerToken } from '../endpoint/auth.ts'
import type { Redis } from 'ioredis'

/** How often a stream asks whether its session still holds, in ms. */
const SESSION_CHECK_MS = 20_000

/** Changes within this time are sent together, in ms: an account can have a thousand calls a second. */
const GATHER_MS = 100

/** The most calls that are sent at once; beyond that, the client has to reload. */
const MAX_CALLS = 50

/** Streams of one account: in this process, and over all of them. */
const MAX_STREAMS = 20

/** Streams of all accounts in one process: each asks Postgres every 20 s whether its session holds. */
const MAX_STREAMS_IN_PROCESS = 2000

/** When a refused page may try again, in seconds. */
const RETRY_SECONDS = 30

type Deps = Pick<WebDeps, 'config' | 'db' | 'redis' | 'replies' | 'responseMemory' | 'draining' | 'log'>

/** Follows the account until the client disconnects, the session ends (within a minute) or the process stops. */
export function followAccount(deps: Deps, checkMs = SESSION_CHECK_MS) {
  const streams = new Quota({ perAccount: MAX_STREAMS, perProcess: MAX_STREAMS_IN_PROCESS })
  const places = { redis: deps.redis, prefix: deps.config.REDIS_PREFIX, most: MAX_STREAMS }
  return async ({ auth }: { auth: LiveSession }, ctx: Context): Promise<void> => {
    const { accountId } = auth
    const token = bearerToken(ctx.get('authorization'))
    // Before anything is awaited, so that concurrent requests see the count.
    if (!streams.take(accountId, 1)) throw refusalOf(streams.of(accountId))
    const changes = new Changes(deps, auth)
    let leave = (): void => {}
    let place: StreamPlace | null = null
    const forget = (): void => {
      changes.stop()
      leave()
      place?.leave()
      streams.give(accountId, 1)
    }
    try {
      place = await takePlace(places, accountId, randomUUID())
      if (!place) throw refusalOf(MAX_STREAMS)
      leave = await deps.replies.followers.follow(accountId, (event) => changes.add(event))
    } catch (error) {
      forget()
      throw error
    }
    const stream = beginEventStream(ctx, deps.responseMemory.hold(ctx))
    const { renew } = place
    const check = setInterval(() => {
      renew()
      checkSession(deps, token, auth, stream).catch(reportDefect)
    }, checkMs)
    const end = (): void => stream.end()
    deps.draining.addEventListener('abort', end)
    onFinished(ctx, () => {
      clearInterval(check)
      deps.draining.removeEventListener('abort', end)
      forget()
    })
    changes.sendTo(stream)
  }
}

function refusalOf(held: number): ApiError {
  if (held < MAX_STREAMS) return new ApiError('overloaded', { retryAfterSeconds: RETRY_SECONDS })
  return new ApiError('rate_limited', {
    message: 'This account has too many open event streams.',
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/** A stream ends with its session, or when its rights change: a page that reconnects gets what it may see now. */
async function checkSession({ db }: Deps, token: string, begun: LiveSession, events: EventStream): Promise<void> {
  // While Postgres is down, the session counts as live.
  const now = await findSession(db, token).catch(() => begun)
  if (now?.accountId === begun.accountId && now.role === begun.role) return
  if (now === null) events.send('{}', 'signed_out')
  events.end()
}

/**
 * Gathers changes, reads the changed calls and the account, and sends them: one reading after the other, so that the
 * last event is of the last state.
 */
class Changes {
  private readonly deps: Deps
  private readonly session: LiveSession
  private events: EventStream | null = null
  private calls = new Set<CallId>()
  private missed = false
  private changed = false
  private sending = false
  private timer: NodeJS.Timeout | undefined
  private over = false

  constructor(deps: Deps, session: LiveSession) {
    this.deps = deps
    this.session = session
  }

  add(event: AccountEvent | null): void {
    if (event === null || this.calls.size >= MAX_CALLS) this.missed = true
    else if (event.callId !== null) this.calls.add(event.callId)
    this.changed = true
    this.schedule()
  }

  /** Starts sending: the account's summary now, then every change. */
  sendTo(events: EventStream): void {
    this.events = events
    this.flush().catch(reportDefect)
  }

  stop(): void {
    this.over = true
    clearTimeout(this.timer)
  }

  private schedule(): void {
    if (this.sending || this.over) return
    this.timer ??= setTimeout(() => {
      this.flush().catch(reportDefect)
    }, GATHER_MS)
  }

  private async flush(): Promise<void> {
    const {
      deps: { db, log },
      events,
    } = this
    clearTimeout(this.timer)
    this.timer = undefined
    if (!events) return
    const [ids, missed] = [[...this.calls], this.missed]
    this.calls = new Set()
    this.missed = false
    this.changed = false
    this.sending = true
    try {
      const { userId, accountId } = this.session
      const [role, summary, records] = await Promise.all([
        roleOf(db, userId),
        summaryOf(db, accountId),
        ids.length === 0 ? [] : findRecords(db, ids, seenBy(this.session)),
      ])
      if (this.over) return
      for (const record of records) events.send(JSON.stringify(record), 'call')
      events.send(JSON.stringify({ role, ...summary }), 'account')
      if (missed) events.send('{}', 'refresh')
    } catch (error) {
      // The page reconnects by itself and loads again.
      log.warn({ err: error }, 'events not sent')
      events.end()
    } finally {
      this.sending = false
      if (this.changed) this.schedule()
    }
  }
}

/** The account's own events, for as long as its page is open. */
export const accountEvents = endpoint({
  method: 'get',
  path: '/api/events',
  tag: 'Records',
  summary: 'Stream changes of the account',
  description:
    'Server-sent events: `account` (its balance), `call` (the record of a call that changed), `refresh` (changes ' +
    'may have been missed: load again), `signed_out` (the session has ended). A comment every 15 s. ' +
    'The stream ends within a minute after its session.',
  auth: session,
  answers: {
    200: { description: 'The stream.', content: { 'text/event-stream': events('The events, as they happen.') } },
  },
  errors: ['rate_limited', 'overloaded'],
}).write((deps: Deps) => followAccount(deps))

/** How long a stream counts after it was last renewed, in ms. */
const LEASE_MS = 60_000

/** Counts or renews stream ARGV[1], unless ARGV[2] others count already. By Redis' clock, which all processes share. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`

/**
 * One stream's place among those of its account, over all web processes. `renew` keeps it; one that is not renewed is
 * lost within a minute.
 */
type StreamPlace = { renew: () => void; leave: () => void }

/**
 * Takes one of an account's places. While Redis is unreachable every stream gets one: each process bounds its own.
 * @returns null if all places are taken.
 */
async function takePlace(
  { redis, prefix, most }: { redis: Redis; prefix: string; most: number },
  account: string,
  stream: string,
): Promise<StreamPlace | null> {
  const key = `${prefix}:event-streams:${account}`
  const take = async (): Promise<boolean> => (await redis.eval(TAKE, 1, key, stream, most, LEASE_MS)) === 1
  if (!(await take().catch(() => true))) return null
  return {
    renew: () => {
      take().catch(() => {})
    },
    leave: () => {
      redis.zrem(key, stream).catch(() => {})
    },
  }
}
