/**
 * Header values of upstreams can be secrets: they are written and never read again. Operators see a mask instead, and a
 * catalogue that is applied with it keeps the value that the upstream had.
 */
import type { Fields } from '../platform/fields.ts'
import { isFields } from '../platform/fields.ts'
import type { Fault } from './faults.ts'

/** Replaces a header's value. No header can be sent with it, so that it is never taken for one. */
export const MASK = '•••'

/** A field of a JSON object; undefined if it has none of its own, or is no object. */
export const own = (fields: unknown, name: string): unknown =>
  isFields(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined

const mapped = (fields: Fields, change: (name: string, value: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(name, value)]))

/** The headers of an upstream as operators see them, in any form. */
export const maskedHeaders = (headers: unknown): unknown =>
  isFields(headers) ? mapped(headers, () => MASK) : headers === undefined || headers === null ? headers : MASK

/** An upstream as operators see it. */
export const maskedUpstream = (upstream: unknown): unknown =>
  isFields(upstream) && Object.hasOwn(upstream, 'headers')
    ? { ...upstream, headers: maskedHeaders(upstream.headers) }
    : upstream

/** The content of a catalogue as operators see it. */
export const maskedCatalogue = (content: unknown): unknown =>
  isFields(content) && isFields(content.upstreams)
    ? { ...content, upstreams: mapped(content.upstreams, (_name, upstream) => maskedUpstream(upstream)) }
    : content

/**
 * The content with the values that its masks replace: those of the same upstream and header before.
 * @param former the content that was shown with masks; undefined if there is none: then a mask has no value
 * @returns the faults too: a mask without a value, or at another address, which must not get the secret
 */
export function withoutMasks(content: unknown, former: unknown): { content: unknown; faults: Fault[] } {
  const faults: Fault[] = []
  const upstreams = own(content, 'upstreams')
  if (!isFields(content) || !isFields(upstreams)) return { content, faults }
  const unmask = (name: string, upstream: unknown): unknown => {
    const headers = own(upstream, 'headers')
    if (!isFields(upstream) || !isFields(headers)) return upstream
    const before = own(own(former, 'upstreams'), name)
    const isMoved = addressOf(before) !== addressOf(upstream)
    return {
      ...upstream,
      headers: mapped(headers, (header, value) => {
        if (value !== MASK) return value
        const known = own(own(before, 'headers'), header)
        if (typeof known === 'string' && !isMoved) return known
        const message =
          known === undefined ? 'is a mask that stands for no value' : 'needs its value: baseUrl has changed'
        faults.push({ path: `upstreams.${name}.headers.${header}`, message })
        return ''
      }),
    }
  }
  return { content: { ...content, upstreams: mapped(upstreams, unmask) }, faults }
}

/** Whether a content has masks, whose values only the version before it knows. */
export const hasMasks = (content: unknown): boolean => withoutMasks(content, undefined).faults.length > 0

/** Where an upstream is, as its schema reads it. */
const addressOf = (upstream: unknown): string => String(own(upstream, 'baseUrl')).replace(/\/+$/, '')
