import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'bullmq'
import type { WorkerConfig } from '../../src/workers/deps.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { connectDb } from '../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { createQueues } from '../../src/shared/queues.ts'
import type { Queues } from '../../src/shared/queues.ts'
import { createFetcher } from '../../src/workers/fetching/fetcher.ts'
import type { FetcherSettings } from '../../src/workers/fetching/fetcher.ts'
import { createWebhookProcessor, enqueueDueWebhooks } from '../../src/workers/webhooks/processor.ts'
import { roundsAtOnce } from '../../src/workers/webhooks/round-places.ts'
import type { Schedule } from '../../src/workers/webhooks/schedule.ts'
import { SCHEDULE } from '../../src/workers/webhooks/schedule.ts'

/** A request that a receiver got. */
export type Received = { path: string; headers: IncomingHttpHeaders; body: string }

/** A receiver of events that answers as the test says. */
export type Receiver = { url: string; received: Received[]; stop: () => Promise<void> }

/**
 * Starts one. `answer` is called with the number of the request, from 1, and with which try of its event it is; it may
 * leave it unanswered.
 */
export async function startReceiver(
  answer: (response: ServerResponse, nth: number, tries: number) => void = (response) => response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      received.push({ path: request.url!, headers: request.headers, body: Buffer.concat(pieces).toString() })
      const id = request.headers['webhook-id']
      answer(response, received.length, received.filter(({ headers }) => headers['webhook-id'] === id).length)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    received,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The schedule's number of tries, without its pauses. */
export const HASTY: Schedule = { pauseMs: (tries) => (SCHEDULE.pauseMs(tries, 0) === null ? null : 5) }

/** A worker of the webhook queue, and the sweep that finds what is due. */
export function startWebhookWorker(
  config: WorkerConfig,
  {
    schedule = HASTY,
    fetching = {},
    concurrency = config.WEBHOOKS_CONCURRENCY,
  }: { schedule?: Schedule; fetching?: FetcherSettings; concurrency?: number } = {},
): { db: Db; queues: Queues; flush: () => Promise<void>; stop: () => Promise<void> } {
  const db = connectDb({ ...config, DATABASE_POOL: 8 })
  const connection = connectPersistent(config)
  const queues = createQueues(connection, config.REDIS_PREFIX)
  const fetcher = createFetcher(fetching)
  const own = { ...config, WEBHOOKS_CONCURRENCY: concurrency }
  const log = createLog('silent', 'worker')
  const process = createWebhookProcessor({ config: own, db, queues, fetcher, log, schedule })
  const { REDIS_PREFIX: prefix } = config
  const worker = new Worker('webhooks', process, { connection, prefix, concurrency: roundsAtOnce(own), drainDelay: 1 })
  worker.on('error', () => {})
  const stopped = new AbortController()
  const sweeps = (async () => {
    while (!stopped.signal.aborted) {
      await enqueueDueWebhooks({ db, queues }).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  })()
  return {
    db,
    queues,
    flush: async () => {
      const keys = await connection.keys(`${prefix}:webhooks:*`)
      if (keys.length > 0) await connection.del(keys)
    },
    stop: async () => {
      stopped.abort()
      await sweeps
      await worker.close()
      await queues.close()
      await fetcher.close()
      connection.disconnect()
      await db.destroy()
    },
  }
}
