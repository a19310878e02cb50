/**
 * Shedding: a call that would only wait until its deadline is refused before it is charged.
 */
import { ApiError } from '../../shared/platform/errors.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import type { Queues } from '../../shared/queues.ts'
import type { Replies } from '../../shared/replies/reply-channel.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { KINDS, MODALITIES, mapKinds } from '../../shared/terms/kinds.ts'

/** How many calls one web process waits for: each holds a connection and its answer in memory. */
const MAX_WAITING = 20_000

/** How often the depth of the queues is read, in ms. It is a hint: a little over the bound does no harm. */
const CHECK_MS = 1000

/** Seconds after which a shed client may try again. */
const RETRY_SECONDS = 5

/** What `createLoad` returns. */
export type Load = ReturnType<typeof createLoad>

/** Watches the queues until `stop`. */
export function createLoad(queues: Queues, replies: Pick<Replies, 'waiting'>, log: Log) {
  const queued = mapKinds(() => 0)
  const check = async (): Promise<void> => {
    try {
      for (const modality of MODALITIES) queued[modality] = await queues.depth(modality)
    } catch (error) {
      log.warn({ err: error }, 'queue depth unknown')
    }
  }
  const timer = setInterval(() => {
    check().catch(reportDefect)
  }, CHECK_MS)
  return {
    /** @throws ApiError overloaded if a new call of this modality would wait too long. */
    admit(modality: Modality): void {
      if (queued[modality] >= KINDS[modality].maxQueued || replies.waiting() >= MAX_WAITING) {
        throw new ApiError('overloaded', { retryAfterSeconds: RETRY_SECONDS })
      }
    },
    stop: (): void => clearInterval(timer),
  }
}
