import type { Fields } from '../wire.ts'

/**
 * Reads form fields whose names nest by brackets, as Stripe's clients encode them: `a[b]=1` becomes `{a: {b: '1'}}`,
 * `a[0][b]=1` and `a[][b]=1` become `{a: [{b: '1'}]}`. Every value stays a string.
 */
export function nestedFields(pairs: Iterable<[string, string]>): Fields {
  const root: Fields = Object.create(null) as Fields
  for (const [name, value] of pairs) {
    const open = name.indexOf('[')
    if (open <= 0) root[name] = value
    else put(root, [name.slice(0, open), ...inner(name.slice(open))], value)
  }
  return withLists(root) as Fields
}

function inner(brackets: string): string[] {
  return [...brackets.matchAll(/\[([^\]]*)\]/g)].map(([, key]) => key!)
}

function put(at: Fields, path: readonly string[], value: string): void {
  const [head, ...rest] = path
  const key = head === '' ? String(Object.keys(at).length) : head!
  if (rest.length === 0) {
    at[key] = value
    return
  }
  const next = at[key]
  const nested = typeof next === 'object' ? (next as Fields) : (Object.create(null) as Fields)
  at[key] = nested
  put(nested, rest, value)
}

/** Objects whose keys count from 0 are lists. */
function withLists(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [key, withLists(one)] as const)
  const counts = entries.length > 0 && entries.every(([key], index) => key === String(index))
  return counts ? entries.map(([, one]) => one) : Object.fromEntries(entries)
}
