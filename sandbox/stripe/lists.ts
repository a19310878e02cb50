import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { badField, whole } from './fields.ts'

/** A page of a list, as Stripe has them. */
export interface Page<T> {
  readonly object: 'list'
  readonly url: string
  readonly has_more: boolean
  readonly data: T[]
}

/** The fields that every list takes. */
export const PAGING = ['limit', 'starting_after', 'ending_before', 'created']

const DEFAULT_LIMIT = 10
const MAX_LIMIT = 100

/**
 * The page of a list (newest first) that `limit`, `starting_after` and `ending_before` ask for.
 * @throws {Refusal} 400 for a bad limit or an unknown id
 */
export function page<T extends { id: string }>(items: readonly T[], fields: Fields, url: string): Page<T> {
  const limit = whole(fields, 'limit') ?? DEFAULT_LIMIT
  if (limit < 1 || limit > MAX_LIMIT) throw badField('This value must be between 1 and 100.', 'limit')
  const place = (name: string): number | undefined => {
    const id = fields[name]
    if (id === undefined) return undefined
    const found = items.findIndex((one) => one.id === id)
    if (found < 0) throw badField(`No such object: '${asText(id)}'`, name, 'resource_missing')
    return found
  }
  const after = place('starting_after')
  const before = place('ending_before')
  const from = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const to = before ?? from + limit
  const hasMore = before === undefined ? to < items.length : from > 0
  return { object: 'list', url, has_more: hasMore, data: items.slice(from, to) }
}

/**
 * Whether a time fits the `created` filter of a list: a number, or bounds `gt`, `gte`, `lt`, `lte`.
 * @throws {Refusal} 400 for a bound that is no whole number
 */
export function fitsCreated(created: number, fields: Fields): boolean {
  const exact = typeof fields['created'] === 'string' ? whole(fields, 'created') : undefined
  if (exact !== undefined) return created === exact
  const bounds = asFields(fields['created'])
  const bound = (name: string): number | undefined => whole(bounds, name, `created[${name}]`)
  return (
    created > (bound('gt') ?? -Infinity) &&
    created >= (bound('gte') ?? -Infinity) &&
    created < (bound('lt') ?? Infinity) &&
    created <= (bound('lte') ?? Infinity)
  )
}
