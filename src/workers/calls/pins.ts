/**
 * Which upstream and key has answered a session last, so that its next call finds a warm cache there
 * (docs/upstreams/keys.md#sessions). A preference: without Redis, calls go where they would go without a session.
 */
import type { Redis } from 'ioredis'
import type { Log } from '../../shared/platform/process/log.ts'
import { objectOf } from '../../shared/platform/fields.ts'
import type { CallSession } from '../../shared/queues.ts'

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
