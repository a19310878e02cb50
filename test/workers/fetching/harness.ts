/** Servers and fetchers of one test, closed after it. */
import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import type { Resolver } from '../../../src/workers/fetching/connections.ts'
import type { DownloadOptions } from '../../../src/workers/fetching/download.ts'
import { FetchFailed } from '../../../src/workers/fetching/failure.ts'
import type { CallImages, FetchedImage } from '../../../src/workers/fetching/call-images.ts'
import type { Fetcher, FetcherSettings } from '../../../src/workers/fetching/fetcher.ts'
import { createFetcher } from '../../../src/workers/fetching/fetcher.ts'
import { bytesOf, failureOf } from '../storage/media-files.ts'
import type { Listening } from './servers.ts'
import { serve } from './servers.ts'

/** A signal that never aborts. */
export const signal = new AbortController().signal

export const LOOPBACK = [{ address: '127.0.0.1', family: 4 }]
export const PUBLIC = [
  { address: '93.184.216.34', family: 4 },
  { address: '2606:4700::1111', family: 6 },
]

/** A resolver that gives one answer after another, and then always the last. */
export function answering(...answers: { address: string; family: number }[][]): Resolver & { asked: string[] } {
  const asked: string[] = []
  return Object.assign(
    async (hostname: string) => {
      asked.push(hostname)
      return answers[Math.min(asked.length, answers.length) - 1]!
    },
    { asked },
  )
}

/** A resolver that never answers. */
export const hanging: Resolver = () => new Promise(() => {})

/** The `FetchFailed` that a promise rejects with. */
export async function failed(work: Promise<unknown>): Promise<FetchFailed> {
  const error = await failureOf(work)
  expect(error, String(error)).to.be.instanceOf(FetchFailed)
  return error as FetchFailed
}

/** Work with the images of a call of an account. */
export const withImages = <T>(
  fetcher: Fetcher,
  whose: AbortSignal,
  work: (images: CallImages) => Promise<T>,
  account = 'somebody',
): Promise<T> => fetcher.withImages({ account: account as AccountId, signal: whose }, work)

/** The image at an address, kept after its use. */
export const imageOf = (fetcher: Fetcher, url: string, whose: AbortSignal, account?: string): Promise<FetchedImage> =>
  withImages(fetcher, whose, async (images) => (await images.fetch([url])).get(url)!, account)

/** Makes servers and fetchers for the tests of the enclosing `describe`. */
export function useFetchers() {
  const cleanUps: (() => Promise<unknown>)[] = []

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
  })

  function closing(started: Listening): Listening {
    cleanUps.push(started.close)
    return started
  }

  const server = async (
    handler: RequestListener = (_, response) => response.end('ok'),
    host?: string,
  ): Promise<Listening> => closing(await serve(handler, host))

  function fetcherWith(settings: FetcherSettings = {}): Fetcher {
    const fetcher = createFetcher(settings)
    cleanUps.push(() => fetcher.close())
    return fetcher
  }

  /** Fetches everything behind an address, by default as a result of the upstream at its origin. */
  async function fetchAll(
    url: string,
    options: Partial<DownloadOptions> = {},
    fetcher = fetcherWith(),
  ): Promise<string> {
    const trustedOrigins = [new URL(url).origin]
    const { body } = await fetcher.download(url, { kind: 'image', trustedOrigins, signal, ...options })
    return (await bytesOf(body)).toString()
  }

  return { closing, server, fetcherWith, fetchAll }
}
