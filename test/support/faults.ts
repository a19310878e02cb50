import { setImmediate } from 'node:timers/promises'
import type { Db } from '../../src/shared/platform/postgres/db.ts'

/**
 * A simulated process inside this one. Once killed, none of its code runs again: no `catch`, no `finally`.
 */
export class Process {
  readonly name: string
  alive = true

  constructor(name: string) {
    this.name = name
  }
}

type Parked = { process: Process; what: string; go: () => void }

const never = <T>(): Promise<T> => new Promise<T>(() => {})

/** tarn's pool, as far as it shows whether a statement runs. */
type Pool = {
  numUsed(): number
  numPendingAcquires(): number
  on(event: 'release', listener: () => void): void
  removeListener(event: 'release', listener: () => void): void
}

/**
 * Decides in which order the effects of several processes happen. Each effect waits until it is released; those
 * released together run concurrently. Between two releases everything comes to rest, so that a schedule can be
 * repeated.
 */
export class Scheduler {
  /** What happened, in order, for the message of a failure. */
  readonly history: string[] = []
  private parked: Parked[] = []
  private running = 0
  private readonly pool: Pool

  constructor(db: Db) {
    this.pool = (db.client as { pool: Pool }).pool
  }

  /**
   * One effect of a process on the world outside of it. Killed before it: it does not happen. Killed while it runs: it
   * happens, and its process never learns of it.
   */
  async effect<T>(process: Process, what: string, work: () => Promise<T> | T): Promise<T> {
    if (!process.alive) return never()
    await new Promise<void>((go) => this.parked.push({ process, what, go }))
    this.running++
    const settled = await attempt(work)
    this.running--
    this.history.push(
      `${process.name}${process.alive ? '' : ' (dead)'}: ${what}` +
        ('error' in settled ? ` failed: ${String(settled.error)}` : ''),
    )
    if (!process.alive) return never()
    if ('error' in settled) throw settled.error
    return settled.result
  }

  /** What waits to happen, for the message of a failure. */
  waiting(): string[] {
    return this.parked.map(({ process, what }) => `${process.name}: ${what}`)
  }

  /**
   * Lets the effects at these places happen at once (places count modulo their number), and waits until all is at rest.
   * @param dying is killed while they happen: it never learns what became of its own.
   */
  async release(places: readonly number[], dying?: Process): Promise<void> {
    const chosen = new Set(
      this.parked.length === 0 ? [] : places.map((place) => this.parked[place % this.parked.length]!),
    )
    this.parked = this.parked.filter((one) => !chosen.has(one))
    for (const one of chosen) one.go()
    await (dying ? this.kill(dying) : this.rest())
  }

  /** Lets everything happen that waits now. */
  async releaseAll(): Promise<void> {
    await this.release(this.parked.map((_one, place) => place))
  }

  /** From now on the process is gone. What it has sent still happens. */
  async kill(process: Process): Promise<void> {
    process.alive = false
    this.parked = this.parked.filter((one) => one.process !== process)
    await this.rest()
  }

  /** Waits until every released effect has happened and every process waits for its next one. */
  async rest(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      while (this.pool.numUsed() + this.pool.numPendingAcquires() > 0) {
        quiet = 0
        await this.nextRelease()
      }
      if (this.running > 0) quiet = 0
      await setImmediate()
    }
  }

  private nextRelease(): Promise<void> {
    return new Promise((resolve) => {
      const onRelease = () => {
        this.pool.removeListener('release', onRelease)
        resolve()
      }
      this.pool.on('release', onRelease)
    })
  }
}

async function attempt<T>(work: () => Promise<T> | T): Promise<{ result: T } | { error: unknown }> {
  try {
    return { result: await work() }
  } catch (error) {
    return { error }
  }
}
