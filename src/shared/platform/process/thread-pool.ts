/**
 * Threads for work on client input that would keep the event loop from others. A thread has one task at a time, a heap
 * of its own, and a limit on CPU time; one that exceeds either is terminated, and the next task starts another.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/**
 * What one task may use. `heapMb`: objects, in MB; buffers do not count. `cpuMs`: CPU time of the whole process while
 * the task runs, in ms. Its own is at most that, on an idle process nearly all of it, and on a busy one a share.
 */
export type TaskLimits = { heapMb: number; cpuMs: number }

/** Thrown for a task that exceeded its limits. */
export class TaskTooLarge extends Error {}

/** How often the CPU time of running tasks is compared with its limit, in ms. */
const CHECK_MS = 100

/** A script next to a module: both are TypeScript, compiled, or bundled. */
export const scriptNextTo = (module: string, name: string): URL => new URL(`${name}${extname(module)}`, module)

type Job<Result> = { resolve: (result: Result) => void; reject: (error: Error) => void }

/** Starts a thread when a task needs one, and uses it again. How many run at once is up to the caller. */
export class ThreadPool<Task, Result> {
  private readonly script: URL
  private readonly limits: TaskLimits
  private readonly jobs = new Map<Worker, Job<Result>>()
  private readonly idle = new Set<Worker>()

  /** @param script sends a message once it is loaded, and one for each task, with its result */
  constructor(script: URL, limits: TaskLimits) {
    this.script = script
    this.limits = limits
  }

  /**
   * Runs a task, and returns when no thread works on it any more.
   * @throws TaskTooLarge; any other error is a defect of the script
   */
  async run(task: Task): Promise<Result> {
    const [idle] = this.idle
    if (idle) this.idle.delete(idle)
    const thread = idle ?? (await this.start())
    thread.ref()
    try {
      const result = await this.resultOf(thread, task)
      thread.unref()
      this.idle.add(thread)
      return result
    } catch (error) {
      await thread.terminate()
      throw error
    } finally {
      this.jobs.delete(thread)
    }
  }

  /** Terminates all threads: what still runs in them fails. */
  async stop(): Promise<void> {
    await Promise.all([...this.idle, ...this.jobs.keys()].map((thread) => thread.terminate()))
  }

  /** Starts a thread. Loading its script is no task's CPU time: on a busy machine it takes longer than most tasks. */
  private async start(): Promise<Worker> {
    const resourceLimits = { maxOldGenerationSizeMb: this.limits.heapMb }
    const thread = new Worker(this.script, { resourceLimits })
    thread.on('message', (result: Result) => this.jobs.get(thread)?.resolve(result))
    thread.on('error', (error: NodeJS.ErrnoException) => {
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.jobs.get(thread)?.reject(isMemory ? new TaskTooLarge('a task takes too much memory') : error)
    })
    thread.on('exit', () => {
      this.idle.delete(thread)
      this.jobs.get(thread)?.reject(new Error('a thread ended before its task'))
    })
    await new Promise<void>((resolve, reject) => {
      this.jobs.set(thread, { resolve: () => resolve(), reject })
    }).finally(() => this.jobs.delete(thread))
    return thread
  }

  private async resultOf(thread: Worker, task: Task): Promise<Result> {
    const before = process.cpuUsage()
    let check: NodeJS.Timeout | undefined
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.jobs.set(thread, { resolve, reject })
        thread.postMessage(task)
        check = setInterval(() => {
          const { user, system } = process.cpuUsage(before)
          if (user + system > this.limits.cpuMs * 1000) reject(new TaskTooLarge('a task takes too much CPU time'))
        }, CHECK_MS)
      })
    } finally {
      clearInterval(check)
    }
  }
}
