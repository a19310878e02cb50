/**
 * Pages of the items that a response was asked with. Items may be pictures of megabytes, so a page is bounded by bytes.
 */
import type { Fields } from '../../../shared/platform/fields.ts'
import { isText } from '../../../shared/platform/fields.ts'
import { jsonBytes } from '../../../shared/platform/json-bytes.ts'

/** The most bytes of the items of a page, but for one item alone. */
const PAGE_BYTES = 2 * 1_048_576

/** How many items a page has if its client does not say. */
const SOME_ITEMS = 20

type Wanted = { limit?: number | undefined; order?: 'asc' | 'desc' | undefined; after?: string | undefined }

/** A page of these items, which are in the order in which they were sent. It has the next one, whatever its length. */
export function itemPage(input: readonly Fields[], { limit = SOME_ITEMS, order, after }: Wanted) {
  const items = order === 'asc' ? input : input.toReversed()
  const from = after === undefined ? 0 : items.findIndex((item) => item.id === after) + 1
  const data: Fields[] = []
  let left = PAGE_BYTES
  for (const item of items.slice(from, from + limit)) {
    left -= leastBytes(item, left)
    if (left < 0 && data.length > 0) break
    data.push(item)
  }
  return {
    object: 'list' as const,
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: from + data.length < items.length,
  }
}

const idOf = (item: Fields | undefined): string | null => (isText(item?.id) ? item.id : null)

/** The bytes of a value as JSON; of one with more than `most`, any number that is more than that. */
function leastBytes(value: unknown, most: number): number {
  if (typeof value === 'string') return 2 + (value.length > most ? value.length : jsonBytes(value))
  if (typeof value !== 'object' || value === null) return String(value).length
  let bytes = 2
  for (const [name, one] of Object.entries(value)) {
    bytes += jsonBytes(name) + 4 + leastBytes(one, most - bytes)
    if (bytes > most) break
  }
  return bytes
}
