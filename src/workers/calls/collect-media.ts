/** The end of an image or video call that its upstream has served: its results are stored, and it is settled. */
import type { MediaModel, Route } from '../../shared/catalogue/catalogue.ts'
import { mediaName, mediaUrl } from '../../shared/media/media.ts'
import type { MediaName } from '../../shared/media/media.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import { imagesOutput, mediaOutput } from '../../shared/calls/stored-answers.ts'
import { shapeAsCame } from '../../shared/terms/media-rows.ts'
import type { CameAs } from '../../shared/terms/media-rows.ts'
import type { MediaPrice } from '../../shared/terms/pricing.ts'
import { pricedAs, settledPictures } from '../../shared/terms/pricing.ts'
import type { MediaRequest } from '../../shared/requests/requests.ts'
import type { WorkerDeps } from '../deps.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import type { Made, MediaSource } from '../upstreams/adapter.ts'
import { shapeMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun } from './run-call.ts'

/**
 * What of an image's request decides its end. It is stored next to the reference of a task, because the request itself,
 * with its prompt, is forgotten once it was sent.
 */
export type AskedPictures = Pick<MediaRequest, 'n' | 'resolution' | 'size' | 'quality' | 'response_format'>

/** That part of a request. */
export const askedPictures = ({ n, resolution, size, quality, response_format }: MediaRequest): AskedPictures => ({
  ...(n !== undefined && { n }),
  ...(resolution !== undefined && { resolution }),
  ...(size !== undefined && { size }),
  ...(quality !== undefined && { quality }),
  ...(response_format !== undefined && { response_format }),
})

/** What was made at a route. `asked`: of pictures; absent of a video. */
export type Collected = { route: Route; made: Made; asked: AskedPictures | undefined }

/** A result that a customer can be given: its address, and its name in our storage where it is there. */
type StoredResult = { url: string; name: MediaName | null }

/**
 * Stores the results and settles: a video at its charge, pictures at those that are delivered and as they came, never
 * above their charge. What was made beyond the pictures that were asked for is neither charged nor handed on; what
 * cannot be stored is not charged, unless nothing can.
 * @throws UpstreamError if nothing can be stored; NotStored where our own storage does not take it
 */
export async function collectMedia(
  deps: WorkerDeps,
  model: MediaModel,
  run: Run,
  collected: Collected,
): Promise<Outcome> {
  const { call, spent } = run
  const { route, made, asked } = collected
  const files = made.files.slice(0, asked?.n ?? 1)
  const came = offeredOf(model, made)
  spent.is(
    made.costMicroUsd ?? (asked ? shapeMicroUsd(route, shapeAsCame(asked, came), files.length) : call.costMicroUsd),
  )
  failpoint('result.keeping', call.id)
  const stored = await storeAll(deps, model, run, { ...collected, files })
  failpoint('result.kept', call.id)
  const [first, ...more] = stored.map(({ url }) => url) as [string, ...string[]]
  const created = Math.floor(Date.now() / 1000)
  const pictures = { came, pictures: stored.length, charged: call.charged }
  const price = call.price as MediaPrice
  return {
    is: 'settled',
    settlement: {
      cost: asked ? settledPictures(price, asked, pictures) : call.charged,
      tokens: null,
      costMicroUsd: spent.total,
      upstream: route.upstream.name,
      resultUrl: first,
      ...(asked && { pictures: stored.length, came: pricedAs(price, asked, came), moreResultUrls: more }),
      output: wantsBytes(asked)
        ? imagesOutput(
            created,
            stored.map(({ name }) => name!),
          )
        : mediaOutput(created, [first, ...more]),
    },
  }
}

const wantsBytes = (asked: AskedPictures | undefined): boolean => asked?.response_format === 'b64_json'

/** What an upstream reports of its pictures, if the model offers it: other values have no price. */
const offeredOf = ({ sizes = [], qualities = [] }: MediaModel, { size, quality }: Made): CameAs => ({
  ...(size !== undefined && sizes.includes(size) && { size }),
  ...(quality !== undefined && qualities.includes(quality) && { quality }),
})

/** The stored results, in their order, at least one. @throws the first failure if none could be stored */
async function storeAll(
  deps: WorkerDeps,
  model: MediaModel,
  run: Run,
  collected: Collected & { files: readonly MediaSource[] },
): Promise<StoredResult[]> {
  const stored: StoredResult[] = []
  let failure: UpstreamError | null = null
  for (const [index, source] of collected.files.entries()) {
    try {
      stored.push(await storeOne(deps, model, run, { ...collected, source, index }))
    } catch (error) {
      // The other results would fail too: our own storage failed, or the work has ended.
      if (!(error instanceof UpstreamError) || run.signal.aborted) throw error
      failure ??= error
      deps.log.warn({ ...aboutRun(run), upstream: collected.route.upstream.name, err: error }, 'a result was not kept')
    }
  }
  if (stored.length > 0) return stored
  throw failure!
}

async function storeOne(
  deps: WorkerDeps,
  { modality: kind }: MediaModel,
  run: Run,
  { route: { upstream }, asked, source, index }: Collected & { source: MediaSource; index: number },
): Promise<StoredResult> {
  const { call, signal } = run
  const isLink = upstream.results === 'link' && source.from === 'url' && !source.headers
  if (isLink && !wantsBytes(asked)) return { url: source.url, name: null }
  const name = await deps.results.keep(
    {
      kind,
      source: traced(source, run),
      upstream,
      name: (extension) => mediaName(deps.config.APP_SECRET, call.id, index, extension),
    },
    signal,
  )
  return { url: mediaUrl(deps.config.BASE_URL, name), name }
}

/** A download that carries the upstream's key goes to the upstream itself, and carries the trace too. */
function traced(source: MediaSource, { traceparent }: Run): MediaSource {
  if (source.from === 'bytes' || !source.headers || !traceparent) return source
  return { ...source, headers: { ...source.headers, traceparent } }
}
