/**
 * JSON objects of upstreams: nothing in them is what it should be until it was looked at.
 */

/** A JSON object. */
export type Fields = Record<string, unknown>

/** Whether a value is a JSON object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value as a JSON object; an empty one where it is none. */
export const asFields = (value: unknown): Fields => (isFields(value) ? value : {})

/** Whether a value is a text that says something. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
