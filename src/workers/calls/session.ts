/**
 * Sessions of chats: which upstream and key has answered one last, so that its next call finds a warm cache there
 * (docs/upstreams/keys.md#sessions). A preference: without Redis, calls go where they would go without a session.
 */
import type { Redis } from 'ioredis'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import { isText, objectOf } from '../../shared/platform/fields.ts'
import { servedAt } from '../../shared/calls/tries.ts'
import { callOfResponse } from '../../shared/chat/responses/response.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { CallSession } from '../../shared/queues.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Run } from './run-call.ts'

/** The upstream and the key that answered a session last, by their names. */
export type Pin = { upstream: string; key: string }

/** What is remembered of sessions, in Redis. */
export type Pins = {
  /** Where a session was answered last; null if that is not known. */
  read: (session: CallSession) => Promise<Pin | null>
  /** Remembers it for as long as the session states. No call waits for it. */
  write: (session: CallSession, pin: Pin) => void
}

/** What is remembered of sessions. */
export function createPins(redis: Redis, prefix: string, log: Log): Pins {
  const keyOf = ({ digest }: CallSession): string => `${prefix}:session:${digest}`
  const failing = (err: unknown): null => {
    log.warn({ err }, 'upstream of a session not remembered')
    return null
  }
  return {
    read: async (session) => {
      const stored = await redis.get(keyOf(session)).catch(failing)
      return stored === null ? null : (objectOf(stored) as Pin | null)
    },
    write: (session, { upstream, key }) => {
      redis.set(keyOf(session), JSON.stringify({ upstream, key }), 'EX', session.seconds).catch(failing)
    },
  }
}

/** The session of a run. `pin`: where it was answered last. `servedBy`: an answer of this route has begun. */
export type RunSession = { pin: Pin | null; servedBy: (route: Route) => void }

/** Where the response was made that this one continues; null if it continues none, or that is not known. */
export async function madeBefore({ db }: Pick<WorkerDeps, 'db'>, { job }: Run): Promise<Pin | null> {
  const { previous_response_id: previous } = job.request as ChatRequest
  const id = isText(previous) ? callOfResponse(previous) : null
  if (id === null) return null
  // Whose it is was checked before the charge.
  return servedAt(db, id)
}

/** The session of a run; null for a call that names none, which asks nothing of Redis. */
export async function beginSession(
  { pins, publisher }: Pick<WorkerDeps, 'pins' | 'publisher'>,
  run: Run,
): Promise<RunSession | null> {
  const { call, job } = run
  const { session } = job
  if (!session) return null
  const pin = await pins.read(session)
  const servedBy = ({ upstream }: Route): void => {
    if (run.session) return
    const isHit = pin?.upstream === upstream.name && pin.key === upstream.key
    run.session = isHit ? 'hit' : pin ? 'moved' : 'new'
    pins.write(session, { upstream: upstream.name, key: upstream.key })
    publisher.update(call.replyTo, call.id, { type: 'session', session: run.session }).catch(reportDefect)
  }
  return { pin, servedBy }
}
