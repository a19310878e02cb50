import { expect } from 'chai'
import { z } from 'zod'
import type { oas31 } from 'zod-openapi'
import { get, send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'

/** The OpenAPI document of a running service, with a check of its answers. */
export type Described = {
  document: oas31.OpenAPIObject
  /** Fails unless the document has this endpoint with this status, and the body has its fields and no others. */
  check: (method: string, path: string, reply: Reply) => void
}

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

type Content = Record<string, { schema?: object }>

/** The verb behind the id of a model, as Google writes it. */
const verbOf = (step: string): string => /:[a-z]+[A-Z]\w+$/.exec(step)?.[0] ?? ''

/** `/v1/calls/call_1?wait=5` is `/v1/calls/{id}`. */
function templateOf(document: oas31.OpenAPIObject, path: string): string | undefined {
  const steps = path.split('?')[0]!.split('/')
  return Object.keys(document.paths ?? {}).find((template) => {
    const places = template.split('/')
    return (
      places.length === steps.length &&
      places.every((place, index) => {
        // A verb may be behind the last one.
        const [, verb] = /^\{\w+\}(.*)$/.exec(place) ?? []
        return place === steps[index] || (verb !== undefined && steps[index] !== '' && verbOf(steps[index]!) === verb)
      })
    )
  })
}

/** OpenAPI 3.1 schemas are JSON Schema, with references to another place. */
const toJsonSchema = (schema: unknown): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')) as object

/** The definitions that a schema refers to, and those that they refer to. */
function definitionsIn(schema: object, all: Record<string, object>): Record<string, object> {
  const found: Record<string, object> = {}
  const add = (one: object): void => {
    for (const [, name] of JSON.stringify(one).matchAll(/"#\/\$defs\/(\w+)"/g)) {
      if (found[name!]) continue
      found[name!] = all[name!]!
      add(all[name!]!)
    }
  }
  add(schema)
  return found
}

/** Reads the document of a running service. */
export async function readDescribed(url: string): Promise<Described> {
  const document = (await get(`${url}/openapi.json`)).json as oas31.OpenAPIObject
  const definitions = toJsonSchema(document.components?.schemas ?? {}) as Record<string, object>
  const read = new Map<object, z.ZodType>()
  /** What a schema of the document describes: reading it takes much longer than to check a body. */
  const described = (schema: object): z.ZodType => {
    const own = toJsonSchema(schema)
    const known = read.get(schema) ?? z.fromJSONSchema({ ...own, $defs: definitionsIn(own, definitions) } as JsonSchema)
    read.set(schema, known)
    return known
  }
  const check = (method: string, path: string, reply: Reply): void => {
    const place = `${method} ${path} ${reply.status}`
    const item = document.paths?.[templateOf(document, path) ?? ''] as Record<string, oas31.OperationObject> | undefined
    const response = item?.[method.toLowerCase()]?.responses?.[reply.status] as { content?: Content } | undefined
    expect(response, `${place} is not in the document: ${reply.text.slice(0, 300)}`).not.to.equal(undefined)
    const type = (reply.headers.get('content-type') ?? '').split(';')[0]!
    if (!response!.content) return
    expect(
      Object.keys(response!.content).some(
        (one) => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))),
      ),
      `${place}: ${type}`,
    ).to.equal(true)
    if (type !== 'application/json') return
    const parsed = described(response!.content[type]!.schema!).safeParse(reply.json)
    expect(parsed.error?.issues ?? [], `${place}: ${reply.text.slice(0, 300)}`).to.deep.equal([])
  }
  return { document, check }
}

export type Client = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

/** A client with a token whose every answer is held against the document. */
export function describedClient(url: string, described: Described, key?: string): Client {
  return async (method, path, body, headers) => {
    const reply = await send(method, `${url}${path}`, { key, body, headers })
    described.check(method, path, reply)
    return reply
  }
}
