/**
 * Upstreams in a private network that may fetch customers' addresses by themselves
 * (docs/upstreams/README.md#fetch-images). Pure. A warning, not a fault: whether an upstream fetches anything
 * only its operator knows.
 */
import { namesPublicHost } from '../requests/addresses.ts'
import type { Fault } from './faults.ts'

/** The fields of an upstream that decide it. */
type Fetching = { baseUrl: string; fetchImages?: boolean | undefined }

/** The part of a valid catalogue's content that is checked. */
export type ValidCatalogue = { upstreams: Readonly<Record<string, Fetching>> }

/** Every upstream of a valid catalogue at a private address whose entry does not state who fetches images. */
export const privateUpstreams = (upstreams: ValidCatalogue['upstreams']): Fault[] =>
  Object.entries(upstreams)
    .filter(([, { baseUrl, fetchImages }]) => fetchImages === undefined && !namesPublicHost(new URL(baseUrl)))
    .map(([name]) => ({
      path: `upstreams.${name}`,
      message:
        'is in a private network and may fetch the addresses of images that customers name, which can lead there: ' +
        'set "fetchImages" to true, so that they are fetched here, or to false if it fetches nothing',
    }))
