/**
 * Schemas in the form of Gemini's API, a part of OpenAPI's, as JSON schemas. Source: Google's reference of the Gemini
 * API, "Schema", November 2026. Pure.
 */
import { asFields, isFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { camelCase } from './names.ts'

/** Keywords whose values are schemas by name, or a list of them; and those that are numbers, even in quotes. */
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'defs'])
const LISTED: ReadonlySet<string> = new Set(['anyOf', 'prefixItems', 'oneOf', 'allOf'])
const NUMBERS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** Keywords that JSON schemas have no need of: what they demand is written in others. */
const OWN: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example'])

/** The words of `format` that only repeat the type. */
const NUMBER_FORMATS: ReadonlySet<unknown> = new Set(['int32', 'int64', 'float', 'double', 'enum'])

/** A JSON schema of a schema of the API. */
export function jsonSchemaOf(schema: Fields): Fields {
  const given = Object.fromEntries(Object.entries(schema).map(([name, value]) => [camelCase(name), value]))
  const { nullable, propertyOrdering: order } = given
  const entries = Object.entries(given).flatMap(([name, value]) => entryOf(name, value))
  const { type, properties, ...rest } = Object.fromEntries(entries)
  const types = nullable === true && isText(type) ? [type, 'null'] : type
  return {
    ...(type !== undefined && { type: types }),
    ...rest,
    ...(isFields(properties) && { properties: inOrder(properties, order) }),
  }
}

function entryOf(name: string, value: unknown): [string, unknown][] {
  if (OWN.has(name) || value === null || (name === 'format' && NUMBER_FORMATS.has(value))) return []
  if (name === 'type' && isText(value)) return value === 'TYPE_UNSPECIFIED' ? [] : [[name, value.toLowerCase()]]
  if (NUMBERS.has(name)) return [[name, Number(value)]]
  if (NAMED.has(name)) return [[name === 'defs' ? '$defs' : name, mapped(asFields(value))]]
  if (LISTED.has(name)) return [[name, listOf(value).map(jsonSchemaOf)]]
  if (name === 'ref') return [['$ref', value]]
  return [
    [name, (name === 'items' || name === 'additionalProperties') && isFields(value) ? jsonSchemaOf(value) : value],
  ]
}

const mapped = (schemas: Fields): Fields =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, isFields(one) ? jsonSchemaOf(one) : one]))

/** Properties in the order that their schema asks for: models write them in the order in which they read them. */
function inOrder(properties: Fields, order: unknown): Fields {
  const first = (Array.isArray(order) ? order : []).filter(
    (name): name is string => isText(name) && Object.hasOwn(properties, name),
  )
  return { ...Object.fromEntries(first.map((name) => [name, properties[name]])), ...properties }
}
