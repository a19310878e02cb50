import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { FAILPOINT_CHANNEL } from '../../../src/shared/platform/process/failpoints.ts'
import type { Failpoint, FailpointName } from '../../../src/shared/platform/process/failpoints.ts'
import type { Provider } from '../../../src/shared/payments/provider.ts'

/** What a process that was killed meets, whatever it does next. */
class Killed extends Error {}

/** One process: it may die at a failpoint, and then reaches neither Postgres nor the provider any more. */
type Life = { alive: boolean; diesAt: FailpointName | null }

const lives = new AsyncLocalStorage<Life>()

const kill = (message: unknown): void => {
  const life = lives.getStore()
  if (life && life.diesAt === (message as Failpoint).name) life.alive = false
}

/** Lets failpoints kill, until the function that it answers is called. */
export function watchFailpoints(): () => void {
  subscribe(FAILPOINT_CHANNEL, kill)
  return () => void unsubscribe(FAILPOINT_CHANNEL, kill)
}

/** Runs a process's work, which may be killed at a failpoint. Answers whether it came to its end. */
export async function live(diesAt: FailpointName | null, work: () => Promise<unknown>): Promise<boolean> {
  const life: Life = { alive: true, diesAt }
  try {
    await lives.run(life, work)
  } catch (error) {
    if (life.alive) throw error
  }
  return life.alive
}

/**
 * Ends the watch over which process does what, once those of a move are done: while Node keeps it, every promise costs
 * more. The next process begins it again.
 */
export const unwatchLives = (): void => lives.disable()

const check = (): void => {
  if (lives.getStore()?.alive === false) throw new Killed()
}

/** The database as a process reaches it while it lives. A transaction that has begun goes on, as in Postgres. */
export const killableDb = (db: Db): Db =>
  new Proxy(db, {
    apply: (target, self, given: Parameters<Db>) => {
      check()
      return Reflect.apply(target, self, given) as unknown
    },
    get: (target, name, receiver) => {
      if (name === 'raw' || name === 'transaction') check()
      return Reflect.get(target, name, receiver) as unknown
    },
  })

/** The provider as a process reaches it while it lives. What was asked happens, also where nobody hears the answer. */
export const killableProvider = (provider: Provider): Provider =>
  new Proxy(provider, {
    get: (target, name, receiver) => {
      const own = Reflect.get(target, name, receiver) as unknown
      if (typeof own !== 'function') return own
      return (...given: unknown[]) => {
        check()
        const answer: unknown = Reflect.apply(own, target, given)
        return answer instanceof Promise ? answer.finally(check) : answer
      }
    },
  })
