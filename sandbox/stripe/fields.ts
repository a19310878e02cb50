import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'

/** A request that is refused for one of its fields, as Stripe words it. */
export function badField(message: string, param: string, code?: string): Refusal {
  return new Refusal({ status: 400, message, param, code })
}

/**
 * A field that must be there and be text. `name` is its full name.
 * @throws {Refusal} 400 `parameter_missing`
 */
export function needText(fields: Fields, key: string, name = key): string {
  const text = asText(fields[key])
  if (!text) throw badField(`Missing required param: ${name}.`, name, 'parameter_missing')
  return text
}

/**
 * A whole number ≥ 0 in a field; undefined if it is absent.
 * @throws {Refusal} 400 `parameter_invalid_integer`
 */
export function whole(fields: Fields, key: string, name = key): number | undefined {
  const given = fields[key]
  if (given === undefined || given === '') return undefined
  if (typeof given !== 'string' || !/^\d{1,12}$/.test(given)) {
    throw badField(`Invalid integer: ${asText(given)}`, name, 'parameter_invalid_integer')
  }
  return Number(given)
}

/** A whole number that must be there. @throws {Refusal} 400 */
export function needWhole(fields: Fields, key: string, name = key): number {
  const found = whole(fields, key, name)
  if (found === undefined) throw badField(`Missing required param: ${name}.`, name, 'parameter_missing')
  return found
}

/** Whether a field is `true`. */
export function flag(fields: Fields, key: string): boolean {
  return fields[key] === 'true'
}

/**
 * The texts of a `metadata` field.
 * @throws {Refusal} 400 beyond Stripe's limits (50 keys of 40 characters with values of 500) or if a value nests
 */
export function metadataOf(value: unknown, name = 'metadata'): Record<string, string> {
  if (value === undefined || value === '') return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badField('Invalid object', name)
  const entries = Object.entries(value)
  if (entries.length > 50) throw badField('Metadata can have up to 50 keys.', name)
  for (const [key, text] of entries) {
    if (typeof text !== 'string') throw badField('Metadata values must be strings.', `${name}[${key}]`)
    if (key.length > 40) throw badField('Metadata keys can have up to 40 characters.', `${name}[${key}]`)
    if (text.length > 500) throw badField('Metadata values can have up to 500 characters.', `${name}[${key}]`)
  }
  return Object.fromEntries(entries.filter(([, text]) => text !== '')) as Record<string, string>
}

/** The value as a list; an empty one for anything else. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Refuses fields that the endpoint does not have.
 * @throws {Refusal} 400 `parameter_unknown`
 */
export function onlyKnown(fields: Fields, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((key) => key !== 'expand' && !known.includes(key))
  if (unknown !== undefined) throw badField(`Received unknown parameter: ${unknown}`, unknown, 'parameter_unknown')
}
