/** How the pictures that a request names get to an upstream. */
import { Readable } from 'node:stream'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { MediaAdapter, Reference } from './adapter.ts'
import type { FormPart } from './multipart.ts'

/**
 * - `none`: it gets none.
 * - `address`: as in the request; the upstream fetches it.
 * - `upload`: bytes in a form, fetched here.
 * - `data`: data URIs in the place of addresses, fetched here.
 */
export type Handover = 'none' | 'address' | 'upload' | 'data'

/**
 * How a route's upstream gets the pictures of a request. A route of media that renames `image_url` declares that its
 * upstream takes the address, and under which name. @param adapter that of media; absent for chats
 */
export function handoverOf({ upstream, rename, drop }: Route, adapter?: MediaAdapter): Handover {
  if (adapter && drop.includes('image_url')) return 'none'
  if (adapter?.uploads && !Object.hasOwn(rename, 'image_url')) return 'upload'
  return upstream.fetchImages ? 'data' : 'address'
}

/** The picture as the file of a form's field. */
export function partOf(name: string, { pieces, contentType, extension }: Reference): FormPart {
  const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const open = (): AsyncIterable<Uint8Array> => Readable.from(pieces)
  return { name, file: { name: `image.${extension}`, type: contentType, bytes, open } }
}

/** The picture as a data URI. */
export const dataUriOf = ({ pieces, contentType }: Reference): string =>
  `data:${contentType};base64,${Buffer.concat(pieces).toString('base64')}`
