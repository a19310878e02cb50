/** Keys of upstreams between workers: what one has learned of them, all know (`src/shared/operators/key-states.ts`). */
import type { Redis } from 'ioredis'
import { forgetKeyStates, nameOfKey, noteKeyState, readKeyStates } from '../shared/operators/key-states.ts'
import { disabledKeys, noteKeyFailure } from '../shared/operators/upstream-keys.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { reportDefect } from '../shared/platform/process/defects.ts'
import type { Log } from '../shared/platform/process/log.ts'
import type { KeyListener, Pools } from './upstreams/pools.ts'

type Shared = { db: Db; log: Log; redis: Redis; prefix: string }

/** How often everything is read again although nothing was announced, in ms: a notice can be lost. */
const CHECK_MS = 10_000

/** Passes on what a worker learns of keys. No call waits for it. @param asked counts the requests */
export function noteKeys(
  { db, log, redis, prefix }: Shared,
  { keyAsked }: { keyAsked: KeyListener['asked'] },
): KeyListener {
  const failing = (error: unknown): void => log.warn({ err: error }, 'state of an upstream key not noted')
  return {
    asked: keyAsked,
    failed: (ref, state) => {
      const note = async (): Promise<void> => {
        const isNew = await noteKeyState(redis, prefix, nameOfKey(ref), state)
        if (isNew && state.is === 'off') await noteKeyFailure(db, ref, state)
      }
      log.warn({ ...ref, reason: state.reason, until: new Date(state.until).toISOString() }, 'upstream key not asked')
      note().catch(failing)
    },
    tested: (ref, state) => {
      noteKeyState(redis, prefix, nameOfKey(ref), state).catch(failing)
    },
    works: (names, before) => {
      forgetKeyStates(redis, prefix, names, before).catch(failing)
    },
  }
}

/** What keeps the keys of a worker current. */
export type KeptKeys = { refresh: () => Promise<void>; refreshLater: () => void; stop: () => void }

/** Reads the states of keys and the switches of operators now and then, and when `refresh` is called. */
export function keepKeys({ db, log, redis, prefix }: Shared, pools: Pick<Pools, 'take'>): KeptKeys {
  const read = async (): Promise<void> => {
    const readAt = performance.now()
    try {
      const [states, disabled] = await Promise.all([readKeyStates(redis, prefix), disabledKeys(db)])
      pools.take(states, new Set(disabled.map(nameOfKey)), readAt)
    } catch (error) {
      log.warn({ err: error }, 'states of upstream keys not read')
    }
  }
  // One after the other: what was read last is what was stored last.
  let reading = Promise.resolve()
  let waiting = false
  const refresh = (): Promise<void> => {
    if (waiting) return reading
    waiting = true
    return (reading = reading.then(() => {
      waiting = false
      return read()
    }))
  }
  const refreshLater = (): void => {
    refresh().catch(reportDefect)
  }
  const timer = setInterval(refreshLater, CHECK_MS).unref()
  return { refresh, refreshLater, stop: () => clearInterval(timer) }
}
