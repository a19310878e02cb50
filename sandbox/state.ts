import { randomBytes } from 'node:crypto'
import { PromptCache } from './anthropic/cache.ts'
import type { ServedFile } from './media/render.ts'
import { Attempts } from './records/attempts.ts'
import { Billing } from './records/billing.ts'
import { Holds } from './records/holds.ts'
import { Journal } from './records/journal.ts'
import { Traffic } from './records/traffic.ts'
import { StripeWorld } from './stripe/world.ts'
import { TaskStore } from './tasks/store.ts'

/** How long work takes by default. */
export interface Durations {
  /** A video task, in seconds. */
  readonly videoSeconds: number
  /** An image made by a task, in seconds. */
  readonly imageSeconds: number
}

/** Everything that a sandbox remembers. It ends with the process. */
export interface State {
  readonly options: Durations
  readonly billing: Billing
  readonly journal: Journal
  readonly traffic: Traffic
  readonly attempts: Attempts
  readonly holds: Holds
  readonly tasks: TaskStore
  readonly files: Map<string, ServedFile>
  readonly ids: Ids
  readonly prompts: PromptCache
  readonly stripe: StripeWorld
}

/** Makes names that no other process makes, so that a task of an earlier process is never mistaken for another. */
class Ids {
  private readonly process = randomBytes(6).toString('hex')
  private count = 0

  /** The next name of a kind, such as `video_1f6b…_1`. */
  next(kind: string): string {
    this.count += 1
    return `${kind}_${this.process}_${this.count.toString(36)}`
  }
}

/** An empty memory. */
export function createState(options: Durations): State {
  return {
    options,
    billing: new Billing(),
    journal: new Journal(),
    traffic: new Traffic(),
    attempts: new Attempts(),
    holds: new Holds(),
    tasks: new TaskStore(),
    files: new Map(),
    ids: new Ids(),
    prompts: new PromptCache(),
    stripe: new StripeWorld(),
  }
}
