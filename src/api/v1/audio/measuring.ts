/**
 * Measures audio files in threads: to parse one that was made for it takes up to a second of CPU. One account has one
 * file in work at a time, and all accounts together as many as there are threads.
 */
import { FairQueue } from '../../../shared/platform/fair-queue.ts'
import type { TaskLimits } from '../../../shared/platform/process/thread-pool.ts'
import { TaskTooLarge, ThreadPool, scriptNextTo } from '../../../shared/platform/process/thread-pool.ts'
import type { Sound } from '../../../shared/media-files/reader.ts'
import { NoSound } from '../../../shared/media-files/reader.ts'
import type { Measurement, OpenFile } from './measuring-thread.ts'

const THREADS = 2

/** Files that wait: of one account, and of all, of which each account has one. */
const WAITING = { perAccount: 500, perProcess: 1000 }

/** A thread that measures 25 MB takes a tenth of the CPU time; the process has other work as well. */
const LIMITS: TaskLimits = { heapMb: 64, cpuMs: 3000 }

/** Measures the files of each account one after another, in the order in which they came. */
export class Measuring {
  private readonly queue = new FairQueue(
    { perHolder: 1, waiting: WAITING.perAccount },
    new FairQueue({ perHolder: THREADS, waiting: WAITING.perProcess }),
  )
  private readonly threads: ThreadPool<OpenFile, Measurement>

  constructor(limits: TaskLimits = LIMITS) {
    this.threads = new ThreadPool(scriptNextTo(import.meta.url, 'measuring-thread'), limits)
  }

  /**
   * What a file is, which stays open meanwhile.
   * @throws NoSound; ApiError rate_limited if too many files wait
   */
  async measure(account: string, file: OpenFile): Promise<Sound> {
    const measured = await this.queue
      .during(account, () => this.threads.run(file))
      .catch((error: unknown) => {
        throw error instanceof TaskTooLarge ? new NoSound('takes too long to measure') : error
      })
    if ('fault' in measured) throw new NoSound(measured.fault)
    return measured
  }

  /** Ends the threads. */
  stop(): Promise<void> {
    return this.threads.stop()
  }
}
