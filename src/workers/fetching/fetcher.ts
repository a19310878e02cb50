/**
 * The one way in which workers fetch what an address names: references of customers and results of upstreams
 * (docs/api/README.md#addresses-in-requests).
 * It reaches public addresses, and an upstream's own configured origin; nothing else.
 */
import type { Readable } from 'node:stream'
import type { Agent } from 'undici'
import { request } from 'undici'
import { FairQueue } from '../../shared/platform/fair-queue.ts'
import { CallImages, MAX_REFERENCE_BYTES } from './call-images.ts'
import type { ImagesCall } from './call-images.ts'
import type { Dial, Resolver } from './connections.ts'
import { publicConnections, systemResolver, trustedConnections, notPublic } from './connections.ts'
import type { Download, DownloadOptions, FetchTimeouts } from './download.ts'
import { download, parseUrl } from './download.ts'
import { createNameResolver, oncePerCall } from './dns-lookups.ts'
import { RecentFailures } from './recent-failures.ts'
import type { ReferencePace } from './reference-clock.ts'
import { namesPublicHost } from '../../shared/requests/addresses.ts'
import { mayReceive } from '../../shared/webhooks/addresses.ts'
import { startDeadline, unlessAborted } from './deadline.ts'
import { toFetchFailed } from './failure.ts'

const TIMEOUTS: FetchTimeouts = { connect: 5000, firstByte: 60_000, idle: 30_000, total: 600_000 }

/** What the images of one call may take: 20 s in all, and 16 kB a second each. */
const PACE: ReferencePace = { totalMs: 20_000, bytesPerSecond: 16_000, graceMs: 3000 }

/** Images of customers that are in this process at once, being fetched or being sent on, in bytes. */
const REFERENCE_BYTES = 160 * 1024 * 1024

/** What one account may have of them. */
const ACCOUNT_PART = 1 / 4

/** How many images of one account may fail in a minute before its further ones are not tried in that minute. */
const MOST_FAILURES = 30

/** Fetches. Everything throws `FetchFailed`, or the signal's reason once that has aborted. */
export type Fetcher = {
  /** Opens the http(s) address of a result and returns when the body begins. */
  download(url: string, options: DownloadOptions): Promise<Download>
  /** Sends a request to an address that a customer chose, and reads nothing of the answer but its head. */
  post(url: string, posted: Posted): Promise<PostAnswer>
  /** Does the work of a call with the images that it names, which are held until it has ended. */
  withImages<T>(call: ImagesCall, work: (images: CallImages) => Promise<T>): Promise<T>
  /** Closes all connections, those of downloads that still run too. */
  close(): Promise<void>
}

/** What can be put in the place of the real thing. */
export type FetcherSettings = {
  /** Finds names of customers and of results. */
  resolver?: Resolver
  /** Finds the names of upstreams' configured origins. */
  upstreamResolver?: Resolver
  /** Where the public addresses that customers name are found. */
  dial?: Dial
  timeouts?: Partial<FetchTimeouts>
  pace?: Partial<ReferencePace>
  /** Bytes of customers' images at once: at least one of the largest. */
  referenceBytes?: number
  /** Failing images of one account in a minute. */
  mostFailures?: number
}

/**
 * A fetcher with connections of its own. Proxy variables of the environment are not obeyed. Names of customers'
 * images and of their receivers, names of results and names of upstreams are looked up apart from each other: none
 * waits for another kind.
 */
export function createFetcher(settings: FetcherSettings = {}): Fetcher {
  const limits = { ...TIMEOUTS, ...settings.timeouts }
  const customerNames = oncePerCall(settings.resolver ?? createNameResolver())
  const results = publicConnections(settings.resolver ?? createNameResolver(), limits.connect)
  const receivers = settings.resolver ?? createNameResolver()
  const trusted = trustedConnections(settings.upstreamResolver ?? systemResolver, limits.connect)
  const references = new Set<Agent>()
  const { referenceBytes = REFERENCE_BYTES } = settings
  const perHolder = Math.max(Math.floor(referenceBytes * ACCOUNT_PART), MAX_REFERENCE_BYTES)
  const deps = {
    budget: new FairQueue({ perHolder }, new FairQueue({ perHolder: referenceBytes })),
    failures: new RecentFailures(settings.mostFailures ?? MOST_FAILURES),
    pace: { ...PACE, ...settings.pace },
    lookUpMs: limits.connect,
  }
  return {
    download: (url, options) => download({ public: results, trusted }, limits, url, options),
    post: (url, posted) => {
      const { dial } = settings
      const agentFor = (signal: AbortSignal): Agent =>
        posted.allowPrivate
          ? trustedConnections(receivers, limits.connect)
          : publicConnections(receivers, limits.connect, { signal, dial })
      return post(agentFor, url, posted)
    },
    withImages: async (call, work) => {
      const resolve = customerNames(call.signal)
      const agent = publicConnections(resolve, limits.connect, { signal: call.signal, dial: settings.dial })
      references.add(agent)
      const open: Fetcher['download'] = (url, options) => download({ public: agent, trusted }, limits, url, options)
      const images = new CallImages({ ...deps, resolve, open }, call)
      try {
        return await work(images)
      } finally {
        await images.release()
        references.delete(agent)
        await agent.destroy()
      }
    },
    close: async () => {
      await Promise.all([results, trusted, ...references].map((agent) => agent.destroy()))
    },
  }
}

/** What is sent. `allowPrivate`: to wherever the address leads, for development. */
type Posted = {
  headers: Record<string, string>
  body: string
  limitMs: number
  allowPrivate: boolean
  signal: AbortSignal
}

/**
 * What was answered: taken (2xx), never to be asked again (410), or neither. `retryAfter` as it came; `start`: how the
 * answer begins, unless it was taken.
 */
type PostAnswer = {
  status: number
  isTaken: boolean
  isGone: boolean
  retryAfter: string | null
  start: string | null
}

/** How much of an answer that is no success is read, in bytes, and for how long, in ms. */
const START = { bytes: 512, ms: 1000 }

/** How an answer begins, as text that can be stored; what comes later than `START.ms` is not waited for. */
async function startOf(body: Readable): Promise<string> {
  const pieces: Buffer[] = []
  const timer = setTimeout(() => body.destroy(), START.ms)
  try {
    for await (const piece of body) {
      pieces.push(piece as Buffer)
      if (pieces.reduce((sum, { length }) => sum + length, 0) >= START.bytes) break
    }
  } catch {
    // What has come is shown.
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(pieces)
    .subarray(0, START.bytes)
    .toString('utf8')
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
}

/**
 * Sends one request to an address that a customer chose: follows no redirect, and reads nothing of the answer but its
 * head, and of a failure how it begins. It goes over an agent that is made for it alone, and closed with it: the name
 * is looked up once, and the connection goes to what was checked.
 * @throws FetchFailed if nothing was answered in time; the signal's reason once that has aborted
 */
async function post(agentFor: (signal: AbortSignal) => Agent, text: string, posted: Posted): Promise<PostAnswer> {
  const url = parseUrl(text)
  if (!posted.allowPrivate && !(namesPublicHost(url) && mayReceive(url))) throw notPublic()
  const deadline = startDeadline(posted.signal, posted.limitMs)
  const { signal } = deadline
  const agent = agentFor(signal)
  const asked = {
    dispatcher: agent,
    method: 'POST',
    headers: posted.headers,
    body: posted.body,
    signal,
  } as const
  try {
    const answer = await unlessAborted(() => request(url, asked), signal)
    const retryAfter = answer.headers['retry-after']
    const { statusCode: status } = answer
    const isTaken = status >= 200 && status < 300
    const start = isTaken ? null : await startOf(answer.body)
    answer.body.on('error', () => {}).destroy()
    return {
      status,
      start,
      isTaken,
      isGone: status === 410,
      retryAfter: (Array.isArray(retryAfter) ? retryAfter[0] : retryAfter) ?? null,
    }
  } catch (error) {
    throw posted.signal.aborted ? posted.signal.reason : toFetchFailed(signal.aborted ? signal.reason : error)
  } finally {
    deadline.release()
    await agent.destroy()
  }
}
