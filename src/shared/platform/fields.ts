/** JSON objects from outside: nothing in them can be relied on until it is checked. */

/** A JSON object. */
export type Fields = Record<string, unknown>

/** Whether a value is a JSON object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value as a JSON object; an empty one if it is none. */
export const asFields = (value: unknown): Fields => (isFields(value) ? value : {})

/** The value as a list; an empty one where it is none. */
export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

/** The value as a list of JSON objects: what is none of them is an empty one. */
export const listOf = (value: unknown): Fields[] => asList(value).map(asFields)

/** Whether a value is an address of the web. */
export const isAddress = (value: unknown): value is string => typeof value === 'string' && /^https?:/i.test(value)

/** Whether a value is a text that is not empty. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** The JSON object that a text is, also as the only element of a list; null if it is none. */
export function objectOf(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    const one: unknown = Array.isArray(value) ? value[0] : value
    return isFields(one) ? one : null
  } catch {
    return null
  }
}
