const LONG_STRING = 2000
const LONG_ARRAY = 2000
const MAX_DEPTH = 40

/**
 * A copy of a JSON value that is safe to keep and to print: strings beyond `longest` characters (data URIs, long
 * prompts) keep their first 200 and a note of their length, and nesting is cut at 40 levels.
 */
export function shorten(value: unknown, longest = LONG_STRING, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > longest ? `${value.slice(0, 200)}… (${value.length} characters)` : value
  }
  if (typeof value !== 'object' || value === null) return value
  // A body may be nested deeper than JSON.stringify can follow.
  if (depth >= MAX_DEPTH) return '…'
  if (Array.isArray(value)) return value.slice(0, LONG_ARRAY).map((item) => shorten(item, longest, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shorten(item, longest, depth + 1)]))
}
