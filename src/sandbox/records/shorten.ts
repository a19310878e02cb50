const LONG_STRING = 2000
const MAX_DEPTH = 20

/**
 * A copy of a JSON value whose long strings (data URIs, long prompts) keep their first 200 characters and a note of
 * their length: what is remembered of a large request must not fill the memory.
 */
export function shorten(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > LONG_STRING ? `${value.slice(0, 200)}… (${value.length} characters)` : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '…'
  if (Array.isArray(value)) return value.slice(0, LONG_STRING).map((item) => shorten(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shorten(item, depth + 1)]))
}
