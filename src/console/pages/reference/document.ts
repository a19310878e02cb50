/**
 * The OpenAPI document of this service, as far as its page reads it, and examples of requests.
 */

/** A JSON Schema of the document. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  examples?: unknown[]
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  additionalProperties?: Schema | boolean
}

type Content = Record<string, { schema?: Schema }>

/** A request of the document. */
export type Operation = {
  tags?: string[]
  summary?: string
  description?: string
  security?: Record<string, unknown>[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[]
  requestBody?: { required?: boolean; content: Content }
  responses?: Record<string, { description?: string; content?: Content }>
}

/** The document. */
export type Reference = {
  info: { version: string; description?: string }
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

/** A request with its method and path, and the name of its place on the page. */
export type Request = { method: string; path: string; place: string; operation: Operation }

/** The document of this service. */
export async function getReference(): Promise<Reference> {
  const answer = await fetch('/openapi.json', { credentials: 'omit' })
  if (!answer.ok) throw new Error(`/openapi.json was answered ${answer.status}`)
  return (await answer.json()) as Reference
}

/** What follows the `#` of an address that leads to a request. */
export const placeOf = (method: string, path: string): string =>
  `${method}${path}`.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '')

/** The requests of each group, in the order of the document. @param search words that each must have */
export function requestsByTag({ tags, paths }: Reference, search: string): Map<string, Request[]> {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const groups = new Map<string, Request[]>(tags.map(({ name }) => [name, []]))
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const text = `${method} ${path} ${operation.summary ?? ''}`.toLowerCase()
      if (!words.every((word) => text.includes(word))) continue
      groups.get(operation.tags?.[0] ?? '')?.push({ method, path, place: placeOf(method, path), operation })
    }
  }
  return groups
}

/** The schema that another one names, with that name. */
export function resolved(reference: Reference, schema: Schema): { name: string | null; schema: Schema } {
  const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref ?? '')?.[1]
  const found = name === undefined ? undefined : reference.components?.schemas?.[name]
  return found ? { name: name!, schema: found } : { name: null, schema }
}

/** How deep examples and schemas are followed: some contain themselves. */
export const MOST_DEPTH = 6

/** An example of a schema: its own, or one with all fields that are required. */
export function exampleOf(reference: Reference, of: Schema, depth = 0): unknown {
  const { schema } = resolved(reference, of)
  if (schema.examples?.length) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum?.length) return schema.enum[0]
  if (depth > MOST_DEPTH) return null
  const [choice] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []
  if (choice) return exampleOf(reference, choice, depth + 1)
  if (schema.properties) {
    const required = schema.required ?? []
    const shown = required.length > 0 ? required : Object.keys(schema.properties).slice(0, 3)
    return Object.fromEntries(
      shown.map((name) => [name, exampleOf(reference, schema.properties![name] ?? {}, depth + 1)]),
    )
  }
  switch ([schema.type].flat()[0]) {
    case 'array':
      return schema.items ? [exampleOf(reference, schema.items, depth + 1)] : []
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'object':
      return {}
    case 'null':
      return null
    case undefined:
    default:
      return '…'
  }
}

/** The variable of the shell that an example has its secret in, by how a caller is identified. */
const SECRETS: Record<string, string> = {
  apiKey: 'KEY',
  apiKeyHeader: 'KEY',
  sessionToken: 'TOKEN',
  metricsToken: 'METRICS_TOKEN',
}

/** A request as a line of curl. */
export function curlOf(reference: Reference, { method, path, operation }: Request, origin: string): string {
  const address = `${origin}${path.replaceAll(/\{(\w+)\}/g, '$$$1')}`
  const words = ['curl', ...(method === 'get' ? [] : ['-X', method.toUpperCase()]), `"${address}"`]
  const [scheme] = (operation.security ?? []).flatMap((one) => Object.keys(one))
  if (scheme !== undefined) words.push('-H', `"Authorization: Bearer $${SECRETS[scheme] ?? 'TOKEN'}"`)
  const schema = operation.requestBody?.content['application/json']?.schema
  if (schema) {
    const body = JSON.stringify(exampleOf(reference, schema)).replaceAll("'", String.raw`'\''`)
    words.push('-H', "'Content-Type: application/json'", '-d', `'${body}'`)
  }
  return words.join(' ')
}

/** The type of a schema in a few words. */
export function typeText(reference: Reference, of: Schema, depth = 0): string {
  const { name, schema } = resolved(reference, of)
  if (name !== null) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices && depth < 2) return choices.map((one) => typeText(reference, one, depth + 1)).join(' | ')
  const types = [schema.type ?? 'any'].flat()
  const shown = types.map((type) =>
    type === 'array' && schema.items ? `list of ${typeText(reference, schema.items, depth + 1)}` : type,
  )
  return shown.join(' | ')
}
