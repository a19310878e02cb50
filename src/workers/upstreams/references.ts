/**
 * The picture at a request's `image_url`, for upstreams that want its bytes in a form.
 */

/** A picture that a customer referred to: its bytes, and what they are called in a form. */
export type Reference = { bytes: Uint8Array; contentType: string; extension: string }

/**
 * Fetches the picture at an http(s) address, or decodes the one in a data URI. Which addresses may be reached is not
 * the adapters' business.
 * @throws UpstreamError `rejected` where there is no such picture, `aborted` at the signal
 */
export type FetchReference = (url: string, signal: AbortSignal) => Promise<Reference>

/** The picture as a file of a form. */
export const fileOf = ({ bytes, contentType, extension }: Reference): File =>
  new File([bytes as Uint8Array<ArrayBuffer>], `image.${extension}`, { type: contentType })
