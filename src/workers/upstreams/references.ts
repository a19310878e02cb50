/**
 * The picture at a request's `image_url`, for upstreams that want its bytes in a form.
 */
import type { MediaRequest } from '../../shared/calls/requests.ts'
import type { UpstreamContext } from './adapter.ts'
import { platformSignal } from '../stop.ts'

/** A picture that a customer referred to: the pieces of its file, and what that is called in a form. */
export type Reference = { pieces: Uint8Array[]; contentType: string; extension: string }

/**
 * Gives `send` the picture at an http(s) address, or the one in a data URI. Which addresses may be reached is not the
 * adapters' business. How much memory such pictures take in a process is bounded, until `send` has ended: so the whole
 * sending belongs there, and nothing after it.
 * @throws UpstreamError `rejected` where there is no such picture, `aborted` at the signal; whatever `send` throws
 */
export type WithReference = <T>(
  url: string,
  signal: AbortSignal,
  send: (reference: Reference) => Promise<T>,
) => Promise<T>

/** Sends a request with the picture that it uploads, or with none. */
export type Upload<T> = (reference: Reference | null) => Promise<T>

/**
 * Gives `send` the picture that a request uploads. That is none where it names none, or where its route drops
 * `image_url` or renames it: a route that renames it says that its upstream takes the address, and under which name.
 * @throws UpstreamError like `WithReference`
 */
export function withUpload<T>(
  withReference: WithReference,
  { image_url: imageUrl }: MediaRequest,
  { route, signal }: UpstreamContext,
  send: Upload<T>,
): Promise<T> {
  const isAddress = Object.hasOwn(route.rename, 'image_url') || route.drop.includes('image_url')
  return imageUrl === undefined || isAddress ? send(null) : withReference(imageUrl, platformSignal(signal), send)
}

/** The picture as a file of a form. */
export const fileOf = ({ pieces, contentType, extension }: Reference): File =>
  new File(pieces as Uint8Array<ArrayBuffer>[], `image.${extension}`, { type: contentType })
