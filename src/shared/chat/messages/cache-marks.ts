/**
 * The cache marks in a request of the Messages API that ask for a life of an hour: such a prefix is written at double
 * its price. The body, its tools, and blocks, however deep, may have marks.
 */
import { asFields, isFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'

/** The name by which an upstream's `allow` permits a life of an hour. */
export const LONG_CACHES = 'cache_control.ttl'

/** The fields that can contain further marks. What a tool is called with, and schemas, are none of them. */
const PLACES = ['system', 'tools', 'messages', 'content', 'source', 'tool'] as const

const isLong = ({ cache_control: mark }: Fields): boolean => asFields(mark).ttl === '1h'

/** The path of the first mark that asks for an hour; null if no mark does. */
export function longCacheIn(value: unknown, path: readonly (string | number)[] = []): string | null {
  if (Array.isArray(value)) return firstOf(value.entries(), (at, one) => longCacheIn(one, [...path, at]))
  if (!isFields(value)) return null
  if (isLong(value)) return [...path, LONG_CACHES].join('.')
  return firstOf(
    PLACES.map((name) => [name, value[name]] as const),
    (name, one) => longCacheIn(one, [...path, name]),
  )
}

function firstOf<K>(entries: Iterable<readonly [K, unknown]>, find: (key: K, value: unknown) => string | null) {
  for (const [key, value] of entries) {
    const found = find(key, value)
    if (found !== null) return found
  }
  return null
}

/** A request whose marks ask for the five minutes that every upstream gives. */
export function withShortCaches<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withShortCaches) as T
  if (!isFields(value)) return value
  const inner = PLACES.flatMap((name) => (name in value ? [[name, withShortCaches(value[name])] as const] : []))
  const mark = isLong(value) ? { cache_control: { type: 'ephemeral' } } : {}
  return { ...value, ...Object.fromEntries(inner), ...mark }
}
