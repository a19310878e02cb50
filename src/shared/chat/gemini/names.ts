/** The names of fields in a request of Gemini's API: it takes both `maxOutputTokens` and `max_output_tokens`. Pure. */
import { isFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'

/** The fields whose content has names of the client's own. */
const OF_CLIENTS: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
])

/** A name as the API writes it: `top_p` is `topP`. */
export const camelCase = (name: string): string =>
  name.replace(/(?<=.)_([a-z0-9])/g, (_all, sign: string) => sign.toUpperCase())

/** A value whose fields have the names that the API writes; the value itself where they do. */
export function camelCased<T>(value: T): T {
  if (Array.isArray(value)) {
    const items = value.map((one): unknown => camelCased(one))
    return (items.every((one, at) => one === value[at]) ? value : items) as T
  }
  if (!isFields(value)) return value
  const entries = Object.entries(value).map(([name, one]): [string, unknown] => {
    const written = camelCase(name)
    return [written, OF_CLIENTS.has(written) ? one : camelCased(one)]
  })
  const isSame = entries.every(([name, one]) => Object.hasOwn(value, name) && value[name] === one)
  return (isSame ? value : Object.fromEntries(entries)) as Fields as T
}
