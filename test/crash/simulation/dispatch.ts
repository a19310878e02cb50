import { DelayedError, WaitingError } from 'bullmq'
import type { Job, Processor } from 'bullmq'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { CallJob, Queues } from '../../../src/shared/queues.ts'
import { MAX_DEATHS } from '../../../src/workers/calls/begin.ts'
import type { Process, Scheduler } from '../../support/faults.ts'

/** What happens to the next jobs that are added: accepted, accepted without an acknowledgement, or refused. */
export type EnqueueFate = 'taken' | 'acknowledgement lost' | 'refused'

type Entry = {
  id: CallId
  modality: Modality
  data: CallJob
  state: 'waiting' | 'active' | 'delayed'
  holder: Process | null
  token: number
  /** How often it was given to a worker. */
  starts: number
  failures: number
  /** How often its worker was taken for dead. */
  stalls: number
  /** When it was added, in Unix ms. */
  addedAt: number
}

/** What the queue answers about a job that it has lost, or has given to another worker. */
class Forgotten extends Error {}

/** How often a job that fails runs, as in the queue's own options. */
const ATTEMPTS = 3

/**
 * The worst queue with at-least-once delivery: it loses, delays and reorders jobs, gives a job to a second worker while
 * the first still has it, and accepts a job again whose call has ended long ago. It never runs anything by itself.
 */
export class Dispatch {
  /** Calls whose workers died, or seemed to, as often as is tried. */
  readonly givenUp = new Set<CallId>()
  fate: EnqueueFate = 'taken'
  /** Failures that no run of a job should have. */
  readonly defects: unknown[] = []
  private readonly jobs = new Map<CallId, Entry>()
  private readonly seen: { modality: Modality; data: CallJob }[] = []
  private readonly turns: Scheduler
  private tokens = 0

  constructor(turns: Scheduler) {
    this.turns = turns
  }

  /** The queues as one process sees them. */
  queuesOf(process: Process): Queues {
    const own = {
      enqueueCall: (modality: Modality, data: CallJob) =>
        this.turns.effect(process, `enqueue ${data.callId}`, () => this.add(modality, data)),
      hasJob: (_modality: Modality, id: CallId) => this.turns.effect(process, `has job ${id}`, () => this.jobs.has(id)),
      removeCall: (_modality: Modality, id: CallId) =>
        this.turns.effect(process, `remove ${id}`, () => {
          if (this.jobs.get(id)?.state !== 'active') this.jobs.delete(id)
        }),
      // Polls come when a schedule delivers them.
      pollNow: async () => {},
      // No request here is large.
      requests: { read: async ({ request }: CallJob) => ({ request }), drop: async () => {} },
      // Web processes here never look whether Redis has forgotten their jobs.
      isLeftToWeb: async () => false,
    }
    return own as unknown as Queues
  }

  /** Jobs that can be given to a worker. */
  ready(): CallId[] {
    return [...this.jobs.values()].filter(({ state }) => state !== 'active').map(({ id }) => id)
  }

  /** Jobs that a worker has. */
  active(): { id: CallId; holder: Process | null }[] {
    return [...this.jobs.values()].filter(({ state }) => state === 'active')
  }

  /** What a call's job says of its models, if it names several. */
  modelsOf(id: CallId): CallJob['models'] {
    return this.seen.find(({ data }) => data.callId === id)?.data.models
  }

  /** How many jobs were ever added. */
  get known(): number {
    return this.seen.length
  }

  /** Gives a job to a worker. */
  deliver(id: CallId, process: Process, processor: Processor<CallJob>): void {
    const entry = this.jobs.get(id)
    if (!entry) return
    entry.state = 'active'
    entry.holder = process
    entry.starts++
    const token = (entry.token = ++this.tokens)
    const mine = () => this.jobs.get(id) === entry && entry.token === token && entry.state === 'active'
    void processor(this.handle(entry, process, mine), String(token)).then(
      () => {
        if (process.alive && mine()) this.jobs.delete(id)
      },
      (error: unknown) => {
        if (process.alive) this.failed(entry, mine, error)
      },
    )
  }

  /** The queue assumes that the worker of a job has lost it, rightly or not. */
  lapse(id: CallId): void {
    const entry = this.jobs.get(id)
    if (entry?.state !== 'active') return
    entry.state = 'waiting'
    entry.stalls++
    if (entry.stalls === MAX_DEATHS) this.givenUp.add(id)
  }

  /** Makes every job older by so many seconds. */
  pass(seconds: number): void {
    for (const entry of this.jobs.values()) entry.addedAt -= seconds * 1000
  }

  /** An old job is delivered again, as it was added. */
  again(place: number): void {
    const job = this.seen[place % Math.max(1, this.seen.length)]
    if (job) this.insert(job.modality, job.data, 0)
  }

  /** Loses everything. */
  flush(): void {
    this.jobs.clear()
  }

  private add(modality: Modality, data: CallJob): void {
    if (this.fate === 'refused') throw new Error('Connection is closed.')
    this.seen.push({ modality, data })
    this.insert(modality, data, Date.now())
    if (this.fate === 'acknowledgement lost') throw new Error('Command timed out')
  }

  private insert(modality: Modality, data: CallJob, addedAt: number): void {
    if (this.jobs.has(data.callId)) return
    this.jobs.set(data.callId, {
      id: data.callId,
      modality,
      data,
      state: 'waiting',
      holder: null,
      token: 0,
      starts: 0,
      failures: 0,
      stalls: 0,
      addedAt,
    })
  }

  private failed(entry: Entry, mine: () => boolean, error: unknown): void {
    if (error instanceof DelayedError || error instanceof WaitingError) return
    if (!(error instanceof Forgotten)) this.defects.push(error)
    if (!mine()) return
    if (++entry.failures >= ATTEMPTS) this.jobs.delete(entry.id)
    else entry.state = 'delayed'
  }

  private handle(entry: Entry, process: Process, mine: () => boolean): Job<CallJob> {
    const move = (state: 'delayed' | 'waiting') =>
      this.turns.effect(process, `${state} ${entry.id}`, () => {
        if (!mine()) throw new Forgotten(`Missing lock for job ${entry.id}`)
        entry.state = state
      })
    const job = {
      id: entry.id,
      name: entry.modality,
      timestamp: entry.addedAt,
      stalledCounter: entry.stalls,
      attemptsMade: entry.failures,
      attemptsStarted: entry.starts,
      data: entry.data,
      updateData: (data: CallJob) =>
        this.turns.effect(process, `update ${entry.id}`, () => {
          if (this.jobs.get(entry.id) !== entry) throw new Forgotten(`Missing key for job ${entry.id}`)
          job.data = entry.data = data
        }),
      moveToDelayed: () => move('delayed'),
      moveToWait: () => move('waiting'),
    }
    return job as unknown as Job<CallJob>
  }
}
