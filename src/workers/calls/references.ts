/**
 * The pictures that customers upload, or name, by address or as `data:` URIs: `image_url` of media, image parts of
 * chats and of moderations (docs/api/README.md#addresses-in-requests).
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { picturesOf, withPictures } from '../../shared/requests/moderations.ts'
import type { ModerationRequest } from '../../shared/requests/moderations.ts'
import type { ChatRequest, MediaRequest } from '../../shared/requests/requests.ts'
import { addressesOf, placeOfUpload } from '../../shared/requests/requests.ts'
import type { Dialect } from '../../shared/chat/dialect.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import { isAddress } from '../../shared/platform/fields.ts'
import type { WorkerDeps } from '../deps.ts'
import type { CallImages, FetchedImage } from '../fetching/call-images.ts'
import { FetchFailed } from '../fetching/failure.ts'
import { MediaRefused } from '../storage/refused.ts'
import type { MediaAdapter, UpstreamContext } from '../upstreams/adapter.ts'
import { dataUriOf, handoverOf } from '../upstreams/references.ts'
import type { Run } from './run-call.ts'
import { aboutRun, filesOf } from './run-call.ts'

type AnyRequest = ChatRequest | MediaRequest | ModerationRequest

/** Whether a request for media names a picture that may have to be fetched or decoded. */
const namesPictures = (request: AnyRequest): boolean =>
  !('messages' in request) && !isModeration(request) && addressesOf(request).length > 0

const isUpload = (url: unknown): url is string => placeOfUpload(url) !== null

/** The http(s) addresses of a request that an upstream would fetch, or we for it. */
const addressesIn = (request: AnyRequest, dialect: Dialect | undefined): string[] =>
  'messages' in request
    ? dialectOf(dialect)
        .addresses(request as ChatRequest)
        .map(({ url }) => url)
    : isModeration(request)
      ? picturesOf(request).filter(isAddress)
      : addressesOf(request).filter(isAddress)

const isModeration = (request: MediaRequest | ModerationRequest): request is ModerationRequest => 'input' in request

/** A picture that a request names cannot be used: its upstream was sent nothing. Its message is public. */
export class ReferenceRefused extends Error {}

/**
 * The message to a customer about an address that failed, for any reason: different answers would reveal our
 * network. The log has the reason.
 */
const UNFETCHED = 'image_url: The image could not be fetched.'

const TOO_MANY = 'image_url: Too many images of this account could not be used in the last minute.'

/** An address of another kind than an image's, for an upstream that fetches nothing. */
const IMAGES_ONLY = 'This model accepts only addresses of images.'

/** The pictures of a call, as each of its routes gets them. */
export type References = {
  /** Fetches what a route needs; before its upstream's place is taken. @throws ReferenceRefused */
  prepare: (route: Route, adapter?: MediaAdapter) => Promise<void>
  /** The request as the route's upstream gets it, once prepared. */
  requestFor: <R extends AnyRequest>(request: R, route: Route, adapter?: MediaAdapter) => R
  /** The pictures that the route uploads, once prepared: the one at `image_url`, and those of `images` and `mask`. */
  uploadsFor: (request: MediaRequest, route: Route, adapter: MediaAdapter) => Uploads
}

type Uploads = Pick<UpstreamContext, 'upload' | 'fetched'>

/** A request that names no pictures. */
const NONE: References = { prepare: async () => {}, requestFor: (request) => request, uploadsFor: () => ({}) }

/**
 * Does the work of a call with its pictures. Their host names are resolved first, even if the upstream fetches them:
 * the web process has checked only the syntax. A name that does not resolve is left to the upstream that fetches it.
 * @throws ReferenceRefused if one leads into a private network now, could not be looked up, or cannot be used
 */
export async function withReferences<T>(
  deps: Pick<WorkerDeps, 'db' | 'fetcher' | 'log'>,
  run: Run,
  work: (references: References) => Promise<T>,
): Promise<T> {
  const { fetcher, log } = deps
  const request = run.job.request as AnyRequest
  const { dialect } = run.job
  const addresses = addressesIn(request, dialect)
  run.signal.throwIfAborted()
  if (addresses.length === 0 && !namesPictures(request)) return work(NONE)
  const call = { account: run.call.accountId, signal: run.signal, files: filesOf(deps, run) }
  const refusing = (error: unknown): unknown => {
    if (!(error instanceof FetchFailed || error instanceof MediaRefused)) return error
    const why = error instanceof FetchFailed ? error.problem : error.reason
    log.info({ ...aboutRun(run), why, err: error }, 'image_url not used')
    return refusalOf(error, request, addresses.length > 0)
  }
  return fetcher.withImages(call, async (images) => {
    await images.check(addresses).catch((error: unknown) => {
      throw refusing(error)
    })
    return work(referencesOf({ request, dialect }, images, refusing))
  })
}

function refusalOf(error: FetchFailed | MediaRefused, request: AnyRequest, isFetched: boolean): ReferenceRefused {
  if (error instanceof FetchFailed && error.problem === 'too_many') return new ReferenceRefused(TOO_MANY)
  // A fault in the request itself reveals nothing about any network.
  const field = 'image_url' in request && isUpload(request.image_url) ? 'The uploaded file' : 'image_url'
  return new ReferenceRefused(isFetched ? UNFETCHED : `${field}: ${error.message}`)
}

type Asked = { request: AnyRequest; dialect: Dialect | undefined }

function referencesOf(named: Asked, images: CallImages, refusing: (error: unknown) => unknown): References {
  let fetched: ReadonlyMap<string, FetchedImage> = new Map()
  return {
    prepare: async (route, adapter) => {
      const wanted = wantedBy(named, route, adapter)
      if (wanted.length === 0) return
      fetched = await images.fetch(wanted).catch((error: unknown) => {
        throw refusing(error)
      })
    },
    requestFor: (asked, route, adapter) => {
      const handover = handoverOf(route, adapter)
      const isSent = handover === 'data' || (handover === 'address' && isUpload((asked as MediaRequest).image_url))
      return isSent ? withData(asked, named.dialect, fetched) : asked
    },
    uploadsFor: ({ image_url: url }, route, adapter) =>
      handoverOf(route, adapter) === 'upload' ? { upload: fetched.get(url ?? ''), fetched } : {},
  }
}

/** The pictures that have to be fetched or decoded here for a route. */
function wantedBy({ request, dialect }: Asked, route: Route, adapter?: MediaAdapter): string[] {
  const uploads = [(request as MediaRequest).image_url].filter(isUpload)
  switch (handoverOf(route, adapter)) {
    case 'none':
      return []
    // Nobody else can fetch them.
    case 'address':
      return uploads
    case 'upload':
      return addressesOf(request as MediaRequest)
    case 'data': {
      if (
        'messages' in request &&
        dialectOf(dialect)
          .addresses(request as ChatRequest)
          .some(({ isPicture }) => !isPicture)
      )
        throw new ReferenceRefused(IMAGES_ONLY)
      return [...addressesIn(request, dialect), ...uploads]
    }
  }
}

/** A request with data URIs in the place of its images' addresses. */
function withData<R extends AnyRequest>(
  request: R,
  dialect: Dialect | undefined,
  fetched: ReadonlyMap<string, FetchedImage>,
): R {
  const dataOf = (url: unknown): unknown => {
    const image = isAddress(url) || isUpload(url) ? fetched.get(url) : undefined
    return image ? dataUriOf(image) : url
  }
  if ('messages' in request) return dialectOf(dialect).withPictures(request as ChatRequest, dataOf) as R
  const asked = request as MediaRequest | ModerationRequest
  return (
    isModeration(asked)
      ? withPictures(asked, (url) => String(dataOf(url)))
      : { ...asked, image_url: dataOf(asked.image_url) }
  ) as R
}
