/**
 * The queues: one per modality, so that chat never waits behind videos; one for mail; one for payments; one for
 * webhooks; one for the reconciler. A job carries the request. What happened to a call is recorded in its row, never in
 * a job's state or result.
 */
import type { Redis } from 'ioredis'
import { comesBack } from './platform/redis/redis.ts'
import type { AccountId, CallId, MailId, PaymentId, WebhookId } from './platform/ids.ts'
import { replyChannel, writeReply } from './replies/channels.ts'
import type { Modality, QueueName } from './terms/kinds.ts'
import type { Dialect } from './chat/dialect.ts'
import type { ListedModel } from './calls/listed-models.ts'
import type { Written } from './chat/written-request.ts'
import { readRequest } from './chat/written-request.ts'
import type { Fields } from './platform/fields.ts'
import { reportDefect } from './platform/process/defects.ts'
import { failpoint } from './platform/process/failpoints.ts'
import type { CallRequest } from './requests/requests.ts'
import type { UploadedFile } from './requests/uploads.ts'
import type { Trace } from './platform/process/trace.ts'
import type { DueWebhook } from './webhooks/deliveries.ts'
import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'
import { Queue } from 'bullmq'
import type { JobsOptions } from 'bullmq'

/** The session of a chat: what stands for its id, its holder and its model; and how long it is remembered, in s. */
export type CallSession = { digest: string; seconds: number }

/** A model that may answer a chat, and the chat's session with it. */
export type QueuedModel = ListedModel & { session?: CallSession | undefined }

/** A call to be worked. `request` is null where only the result of a submitted task is to be collected. */
export type CallJob = Trace & {
  callId: CallId
  accountId: AccountId
  request: CallRequest | null
  /** The request as it was written (`written-request.ts`): `request` is an outline of it. */
  text?: string
  /** The whole request is next to the job (`createLargeRequests`), as it was written or not. */
  isBeside?: boolean
  isWritten?: boolean
  /** The dialect that a chat was asked in; chat completions where it is absent. */
  dialect?: Dialect
  /** The betas of the Messages API that its client asked for. */
  betas?: string[]
  /** The session that a chat belongs to. */
  session?: CallSession
  /** The models that may answer a chat, in their order, if it names several; each has a session of its own. */
  models?: readonly QueuedModel[]
  /** The version of the catalogue that it was opened at. */
  catalogueVersion: number
  /** Unix ms after which nobody needs the request any more. */
  deadlineAt: number
  /** The files of its form, which wait in Postgres until it has ended (`uploads.ts`). */
  files?: UploadedFile[]
}

/** The name of the jobs that count input. */
export const COUNT = 'count'

/** A count of input tokens by a model's upstream, for the web process `replyTo`. `callId` names it, and no call. */
export type CountJob = Trace &
  Pick<CallJob, 'callId' | 'accountId' | 'request' | 'isBeside' | 'betas' | 'catalogueVersion' | 'deadlineAt'> & {
    model: string
    replyTo: string
  }

/** Asks a worker to send a mail. Its recipient and content stay in Postgres. */
export type MailJob = { mailId: MailId }

/**
 * Asks a worker to check: what a provider's event is about, at an order, at an account that wants a top-up, at a
 * customer that the provider has to forget.
 */
export type PaymentJob =
  | { kind: 'event'; id: string; traceparent?: string | undefined }
  | { kind: 'order'; id: PaymentId }
  | { kind: 'top-up'; id: AccountId }
  | { kind: 'forget'; id: string }

/** Asks a worker for a round of a webhook: the events for it stay in Postgres. */
export type WebhookJob = { webhookId: WebhookId } & Omit<DueWebhook, 'id'>

/** A round of a webhook as its queue takes it: those of operators go first, those of the slow lane last. */
export const webhookRound = ({ id, accountId, isSlow }: DueWebhook) => ({
  data: { webhookId: id, accountId, isSlow } satisfies WebhookJob,
  priority: accountId === null ? 1 : isSlow ? 3 : 2,
})

/** BullMQ's own bounds of a priority; 1 goes first. */
const MAX_PRIORITY = 2_097_151

/** How long it is remembered that a call's job was missed, in seconds. */
const MISSED_SECONDS = 60

/** How long it is remembered that a web process was asked to settle a call, in seconds. */
const ASKED_SECONDS = 60

/** What `createQueues` returns. */
export type Queues = ReturnType<typeof createQueues>

/** The producer side of all queues over one connection that fails fast. */
export function createQueues(connection: Redis, prefix: string) {
  const queues = openQueues(connection, prefix)
  const { queue } = queues
  const requests = createLargeRequests(connection, prefix)
  return {
    ...queues,

    /** Requests of calls that are too large for their jobs. */
    requests,

    /**
     * Enqueues a call under its own id, so that a second time changes nothing while the first job is there. Where the
     * connection is lost meanwhile, the call is enqueued once more: a run that is not the first finds that another has
     * the call, or that it has ended.
     * @param outstanding the calls its account has open: fewer go first.
     */
    async enqueueCall(modality: Modality, job: CallJob, outstanding: number): Promise<void> {
      failpoint('call.enqueuing', job.callId)
      const priority = Math.min(Math.max(outstanding, 1), MAX_PRIORITY)
      const add = async (): Promise<void> => {
        await queue(modality).add(modality, await requests.put(job), { jobId: job.callId, priority })
      }
      try {
        await add()
      } catch (error) {
        if (!(await comesBack(connection))) throw error
        await add()
      }
      failpoint('call.enqueued', job.callId)
    },

    /** Enqueues a count in front of all calls: somebody waits for it, and it is tried once. */
    async enqueueCount(job: CountJob): Promise<void> {
      await queue('chat').add(COUNT, await requests.put(job), { jobId: job.callId, priority: 1, attempts: 1 })
    },

    /** Removes the job of a call that has ended, unless a worker has taken it: its upstream is not to be asked. */
    async removeCall(modality: Modality, callId: CallId): Promise<void> {
      await queue(modality).remove(callId)
    },

    /** Has the task of a call polled now, where its job waits for the next poll. */
    async pollNow(modality: Modality, callId: CallId): Promise<void> {
      const job = await queue(modality).getJob(callId)
      // One that does not wait is polled anyway, and may have gone since it was read.
      if (await job?.isDelayed()) await job?.promote().catch(() => {})
    },

    /** Whether Redis still has a job for this call that will run or is running. */
    async hasJob(modality: Modality, callId: CallId): Promise<boolean> {
      const state = await queue(modality).getJobState(callId)
      return state !== 'unknown' && state !== 'completed' && state !== 'failed'
    },

    /** See `isLeftToWeb`. */
    isLeftToWeb: (callId: CallId, replyTo: string) => isLeftToWeb(connection, prefix, callId, replyTo),

    /** See `isLeftToReader`. */
    isLeftToReader: (callId: CallId, replyTo: string) => isLeftToReader(connection, prefix, callId, replyTo),

    /** Enqueues jobs for these mails. A mail that already has a job keeps it. */
    async enqueueMails(ids: MailId[]): Promise<void> {
      await queue('mail').addBulk(
        ids.map((mailId) => ({ name: 'mail', data: { mailId } satisfies MailJob, opts: { jobId: mailId } })),
      )
    },

    /** Enqueues rounds of these webhooks. One that has a job keeps it. */
    async enqueueWebhooks(due: DueWebhook[]): Promise<void> {
      await queue('webhooks').addBulk(
        due.map((one) => {
          const { data, priority } = webhookRound(one)
          return { name: 'webhook', data, opts: { jobId: one.id, priority } }
        }),
      )
    },

    /** Enqueues jobs about payments. One that waits already is not enqueued twice. */
    async enqueuePayments(jobs: PaymentJob[]): Promise<void> {
      await queue('payments').addBulk(
        // A provider's id may have characters that no job's id can.
        jobs.map((data) => ({ name: data.kind, data, opts: { jobId: `${data.kind}-${encodeURIComponent(data.id)}` } })),
      )
    },
  }
}

/**
 * A web process enqueues its calls again when it finds that Redis has forgotten everything. So a call without a job
 * waits for it if it lives, the first time that this is asked.
 */
async function isLeftToWeb(redis: Redis, prefix: string, callId: CallId, replyTo: string): Promise<boolean> {
  const [, listeners] = (await redis.pubsub('NUMSUB', replyChannel(prefix, replyTo))) as [string, number]
  if (Number(listeners) === 0) return false
  return (await redis.set(`${prefix}:missed:${callId}`, '1', 'EX', MISSED_SECONDS, 'NX')) === 'OK'
}

/**
 * Asks the web process of a call whose worker was lost to settle what it has sent on of its stream. If the process
 * lives, the call waits for it for SETTLE_LOST_SECONDS, the first time that this is asked. That is recorded after the
 * question, so that it is asked again if the asking process dies in between.
 */
export async function isLeftToReader(
  redis: Pick<Redis, 'publish' | 'set'>,
  prefix: string,
  callId: CallId,
  replyTo: string,
): Promise<boolean> {
  const lost = writeReply({ callId, kind: 'update', update: { type: 'lost' } })
  if ((await redis.publish(replyChannel(prefix, replyTo), lost)) === 0) return false
  return (await redis.set(`${prefix}:lost:${callId}`, '1', 'EX', ASKED_SECONDS, 'NX')) === 'OK'
}

type Request = CallRequest | null

/** The fields of a job that state where its request is. */
type Carrying = Pick<CallJob, 'callId' | 'request' | 'text' | 'isBeside' | 'isWritten' | 'dialect' | 'deadlineAt'>

/** The request of a job, and how it was written where that is known. */
export type CarriedRequest = { request: Request; written?: Written }

/** The longest request that travels in its job, in bytes of JSON. */
const MOST_IN_JOB = 65_536

/** How much longer than its call a request is stored, in ms: the reconciler may still hand it out. */
const GRACE_MS = 120_000

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/**
 * The requests that are too large for their jobs. BullMQ hands a job's data around with every move of it, so a request
 * above MOST_IN_JOB is stored next to it in Redis, compressed, until its call has ended or can no longer be answered.
 */
function createLargeRequests(redis: Redis, prefix: string) {
  const keyOf = ({ callId }: Pick<Carrying, 'callId'>): string => `${prefix}:request:${callId}`

  return {
    /** The job as it is enqueued: without its request, where that is large. */
    async put<J extends Carrying>({ text: written, ...job }: J): Promise<Omit<J, 'text'> & Pick<Carrying, 'text'>> {
      const text = written ?? JSON.stringify(job.request)
      const isWritten = written !== undefined
      if (Buffer.byteLength(text) <= MOST_IN_JOB)
        return isWritten ? { ...job, request: outlineOf(job.request), text } : job
      const bytes = await compress(text, { level: constants.Z_BEST_SPEED })
      const leftMs = Math.max(0, job.deadlineAt - Date.now()) + GRACE_MS
      await redis.set(keyOf(job), bytes, 'PX', Math.ceil(leftMs))
      return { ...job, request: outlineOf(job.request), isBeside: true, ...(isWritten && { isWritten }) }
    },

    /** The request of a job; null if there is none (any more). */
    async read(job: Carrying): Promise<CarriedRequest> {
      const { request, text } = job
      if (request !== null && text !== undefined) return writtenIn(text, job)
      if (!isBeside(job)) return { request }
      const bytes = await redis.getBuffer(keyOf(job))
      if (!bytes) return { request: null }
      const stored = String(await decompress(bytes))
      return job.isWritten ? writtenIn(stored, job) : { request: JSON.parse(stored) as Request }
    },

    /** Forgets the request of a job whose call has ended, or whose task needs it no more. */
    async drop(job: Carrying): Promise<void> {
      if (isBeside(job)) await redis.del(keyOf(job))
    },
  }
}

function writtenIn(text: string, { dialect }: Carrying): CarriedRequest {
  const fields = JSON.parse(text) as Fields
  return { request: readRequest(fields, dialect ?? 'chat'), written: { text, fields } }
}

/** Whether a request is next to its job. */
const isBeside = ({ request, isBeside: stated }: Carrying): boolean => stated === true && request !== null

/** What decides how a job is handled, before its request is read: numbers and flags, such as `stream`. */
const outlineOf = (request: Request): Request =>
  Object.fromEntries(
    Object.entries(request ?? {}).filter(([, value]) => typeof value === 'number' || typeof value === 'boolean'),
  ) as Request

/**
 * Ended jobs are removed at once: prompts must not stay in Redis. A defect is tried again twice, then the reconciler
 * ends its call; failures of upstreams never reach the queue.
 */
const JOB_OPTIONS: JobsOptions = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 500 },
  removeOnComplete: true,
  removeOnFail: true,
}

/** The default fails a job on its second crash; the call's row decides what may still be done, not this counter. */
export const MAX_STALLED_COUNT = 1000

/** The producer side of queues by name, each opened when it is first used, over one connection that fails fast. */
function openQueues(connection: Redis, prefix: string) {
  const open = new Map<QueueName, Queue>()
  const queue = (name: QueueName): Queue => {
    const opened = open.get(name)
    if (opened) return opened
    const streams = { events: { maxLen: 100 } }
    const made = new Queue(name, { connection, prefix, defaultJobOptions: JOB_OPTIONS, streams })
    // Each command reports its own error; without a listener a lost connection would end the process.
    made.on('error', () => {})
    open.set(name, made)
    // BullMQ sets a queue up once: one that lost its connection meanwhile would fail until the process ends.
    const replace = async (): Promise<void> => {
      if (open.get(name) === made) open.delete(name)
      await made.close()
    }
    made.waitUntilReady().catch(() => replace().catch(reportDefect))
    return made
  }

  return {
    /** One queue, for the dashboard, metrics and workers' own jobs. */
    queue,

    /** How many jobs wait for a worker. */
    async depth(name: QueueName): Promise<number> {
      const { waiting = 0, prioritized = 0 } = await queue(name).getJobCounts('waiting', 'prioritized')
      return waiting + prioritized
    },

    /** How many jobs wait for a worker, are active in one, or are delayed until their time. */
    async jobCounts(name: QueueName): Promise<{ waiting: number; active: number; delayed: number }> {
      const counts = await queue(name).getJobCounts('waiting', 'prioritized', 'active', 'delayed')
      const { waiting = 0, prioritized = 0, active = 0, delayed = 0 } = counts
      return { waiting: waiting + prioritized, active, delayed }
    },

    /** Closes the queues; the connection is its owner's. */
    close: () => Promise.all([...open.values()].map((one) => one.close())),
  }
}
