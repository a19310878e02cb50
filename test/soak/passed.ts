import { writeFileSync } from 'node:fs'
import { readIfThere } from '../../scripts/services/secrets.ts'
import type { Job, Result } from './jobs.ts'

/** What makes two soaks the same: the seed, the fingerprint of the tree, and how much is played and planted. */
export type Soak = { seed: number; tree: string; part: number; every: number }

/** What a soak records for the one that continues it. */
type State = Soak & { passed: Record<string, Result> }

/** The jobs of the last soak that passed, in a file, by name. */
export class PassedJobs {
  private readonly file: string
  private readonly state: State

  /** @param soak the soak that begins. What was recorded of another one is dropped. */
  constructor(file: string, soak: Soak) {
    this.file = file
    const { passed, ...last } = stateIn(file)
    this.state = { ...soak, passed: JSON.stringify(last) === JSON.stringify(soak) ? passed! : {} }
  }

  /** The seed of the last soak, if there was one. */
  static lastSeed(file: string): number | undefined {
    return stateIn(file).seed
  }

  /** How a job has passed, if it has. */
  of({ name }: Job): Result | undefined {
    return this.state.passed[name]
  }

  /** Records that a job passed, or that it must run again. */
  record({ name }: Job, result: Result): void {
    if (result.ok) this.state.passed[name] = result
    else delete this.state.passed[name]
    writeFileSync(this.file, JSON.stringify(this.state))
  }
}

const stateIn = (file: string): Partial<State> => JSON.parse(readIfThere(file) ?? '{}') as Partial<State>

/**
 * The jobs before `from`, which is the number of a job (from 1) or a part of its name.
 * @throws if there is no such job
 */
export function jobsBefore(jobs: readonly Job[], from: string): Job[] {
  const index = /^\d+$/.test(from) ? Number(from) - 1 : jobs.findIndex(({ name }) => name.includes(from))
  if (!jobs[index]) throw new Error(`no job ${from}: there are ${jobs.length}`)
  return jobs.slice(0, index)
}
