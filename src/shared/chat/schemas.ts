/** JSON schemas of tools and answers, as vendors take them. Pure. */
import { asFields, isFields, isText, listOf } from '../platform/fields.ts'
import { bytesAsJson } from '../platform/json-bytes.ts'
import type { Fields } from '../platform/fields.ts'

/** The schema of the arguments of a tool, which are an object. */
export const argumentsSchema = (schema: Fields | undefined): Fields => ({
  ...schema,
  type: 'object',
  properties: asFields(schema?.properties),
})

/** The keywords that Claude knows in a schema that it must follow: Anthropic's "Structured outputs", November 2026. */
const KNOWN: ReadonlySet<string> = new Set(
  '$ref $defs definitions type enum const default title description required additionalProperties'.split(' '),
)
const FORMATS: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
)

/** Where schemas are in a schema: by name, in a list, or one. */
const NAMED = ['properties', '$defs', 'definitions'] as const
const LISTED = ['anyOf', 'allOf'] as const

/**
 * A schema that Claude must follow: its objects are closed, and what it does not know of other keywords is in the
 * description, as Anthropic's SDKs write it.
 */
export function closedSchema(schema: Fields): Fields {
  const { oneOf, ...rest } = schema
  const given: Fields = oneOf === undefined ? rest : { anyOf: oneOf, ...rest }
  const known: Fields = {}
  const unknown: Fields = {}
  for (const [name, value] of Object.entries(given)) {
    const closed = closedPart(name, value)
    if (closed !== undefined) known[name] = closed
    // Claude has no schema for objects with arbitrary names: the description alone can mention them.
    else if (name === 'additionalProperties' && isFields(value)) unknown[name] = value
    else if (KNOWN.has(name) || isKnownValue(name, value)) known[name] = value
    else unknown[name] = value
  }
  const isObject = [given.type].flat().includes('object') || isFields(given.properties)
  const notes = Object.keys(unknown).length > 0 ? [JSON.stringify(unknown)] : []
  const described = [given.description, ...notes].filter(isText)
  return {
    ...known,
    ...(described.length > 0 && { description: described.join('\n\n') }),
    ...(isObject && { additionalProperties: false }),
  }
}

/** What is in a keyword that contains schemas; undefined for any other. */
function closedPart(name: string, value: unknown): unknown {
  if (NAMED.some((one) => one === name) && isFields(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, isFields(one) ? closedSchema(one) : one]))
  if (LISTED.some((one) => one === name) && Array.isArray(value)) return listOf(value).map(closedSchema)
  return name === 'items' && isFields(value) ? closedSchema(value) : undefined
}

const isKnownValue = (name: string, value: unknown): boolean =>
  (name === 'format' && FORMATS.has(value)) || (name === 'minItems' && (value === 0 || value === 1))

/** A tool of which nothing but the schema matters here. */
type Strict = { strict: unknown; schema: unknown }

/**
 * The bytes by which schemas may grow where they are closed: what a request is charged for before it is sent has them.
 * @param asked the schema of the answer, if there is one
 * @param tools the tools; only those with `strict` count
 */
export const closingBytes = (asked: unknown, tools: readonly Strict[]): number =>
  [asked, ...tools.flatMap(({ strict, schema }) => (strict === true ? [schema] : []))]
    .filter(isFields)
    .reduce((sum, schema) => sum + Math.max(0, bytesAsJson(closedSchema(schema)) - bytesAsJson(schema)), 0)
