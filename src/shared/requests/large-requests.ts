/**
 * Requests that are too large for their job. BullMQ hands a job's data around with every move of it, so a request above
 * 64 KB is stored next to it in Redis, compressed, until its call has ended or can no longer be answered.
 */
import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'
import type { Redis } from 'ioredis'
import type { CallId } from '../platform/ids.ts'
import type { CallRequest } from './requests.ts'

type Request = CallRequest | null

/** The fields of a job that state where its request is. */
type Carrying = { callId: CallId; request: Request; isBeside?: boolean; deadlineAt: number }

/** The longest request that travels in its job, in bytes of JSON. */
const MOST_IN_JOB = 65_536

/** How much longer than its call a request is stored, in ms: the reconciler may still hand it out. */
const GRACE_MS = 120_000

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** The large requests next to the jobs of one Redis. */
export function createLargeRequests(redis: Redis, prefix: string) {
  const keyOf = ({ callId }: Pick<Carrying, 'callId'>): string => `${prefix}:request:${callId}`

  return {
    /** The job as it is enqueued: without its request, where that is large. */
    async put<J extends Carrying>(job: J): Promise<J> {
      const text = JSON.stringify(job.request)
      if (Buffer.byteLength(text) <= MOST_IN_JOB) return job
      const bytes = await compress(text, { level: constants.Z_BEST_SPEED })
      const leftMs = Math.max(0, job.deadlineAt - Date.now()) + GRACE_MS
      await redis.set(keyOf(job), bytes, 'PX', Math.ceil(leftMs))
      return { ...job, request: outlineOf(job.request), isBeside: true }
    },

    /** The request of a job; null if there is none (any more). */
    async read(job: Carrying): Promise<Request> {
      if (!isBeside(job)) return job.request
      const bytes = await redis.getBuffer(keyOf(job))
      return bytes && (JSON.parse(String(await decompress(bytes))) as Request)
    },

    /** Forgets the request of a job whose call has ended, or whose task needs it no more. */
    async drop(job: Carrying): Promise<void> {
      if (isBeside(job)) await redis.del(keyOf(job))
    },
  }
}

/** Whether a request is next to its job. */
const isBeside = ({ request, isBeside: said }: Carrying): boolean => said === true && request !== null

/** What decides how a job is handled, before its request is read: numbers and flags, such as `stream`. */
const outlineOf = (request: Request): Request =>
  Object.fromEntries(
    Object.entries(request ?? {}).filter(([, value]) => typeof value === 'number' || typeof value === 'boolean'),
  ) as Request
