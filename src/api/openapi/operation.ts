/**
 * One endpoint as the OpenAPI document tells it, and how that becomes an OpenAPI operation. Requests are described by
 * the very schemas that validate them; the schemas of answers stand in `answers.ts`.
 */
import type { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import type { ErrorCode } from '../../shared/errors.ts'
import { messageOf, statusOf } from '../../shared/errors.ts'
import { errorSchema } from './answers.ts'
import { commonHeaders, retryHeaders } from './headers.ts'

/** How a path takes its parameters in the table of endpoints: `/v1/calls/:id`. */
export type Operation = {
  method: 'get' | 'post' | 'patch' | 'delete'
  path: string
  tag: Tag
  summary: string
  /** More than the summary, in Markdown. */
  description?: string
  /** What the Authorization header carries. */
  auth: 'key' | 'session' | 'metrics' | null
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** The endpoint can also be asked without a body. */
  bodyIsOptional?: boolean
  answers: Record<number, Answer>
  errors: readonly ErrorCode[]
}

/** The groups of the document. */
export type Tag = 'Models and calls' | 'Account' | 'Mail' | 'API keys' | 'Records' | 'Operators' | 'Service'

/** An answer that is no error. `content` maps media types to schemas, or to null for bytes; JSON is `schema`. */
export type Answer = {
  description: string
  schema?: z.ZodType
  content?: Record<string, z.ZodType | null>
  headers?: z.ZodObject
}

/** What may be wrong with any JSON body. */
export const BODY_ERRORS =
  ['invalid_json', 'payload_too_large', 'unsupported_media_type'] as const satisfies ErrorCode[]

/** What can happen to every request that looks something up. */
const SERVICE_ERRORS = ['internal_error', 'service_unavailable'] as const satisfies ErrorCode[]

/** Every code that an operation can answer with: its own, and those that its authorization and its body bring along. */
export function errorsOf({ auth, body, errors }: Operation): ErrorCode[] {
  return [...new Set<ErrorCode>([
    ...(auth ? ['unauthorized' as const] : []), ...(body ? BODY_ERRORS : []), ...errors,
    ...(auth || body ? SERVICE_ERRORS : []),
  ])]
}

/** The operation in OpenAPI's own form. */
export function openApiOperation(operation: Operation): ZodOpenApiOperationObject {
  const { tag, summary, description, auth, params, query, headers, body, bodyIsOptional = false } = operation
  return {
    operationId: operationId(operation),
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: auth ? [{ [SCHEMES[auth]]: [] }] : [],
    requestParams: { ...(params && { path: params }), ...(query && { query }), ...(headers && { header: headers }) },
    ...(body && { requestBody: { required: !bodyIsOptional, content: { 'application/json': { schema: body } } } }),
    responses: { ...answersOf(operation), ...errorAnswers(operation) },
  }
}

/** The names of the security schemes. */
export const SCHEMES = { key: 'apiKey', session: 'sessionToken', metrics: 'metricsToken' } as const

/** `GET /v1/calls/:id` → `get_v1_calls_id`: a name for generated clients. */
const operationId = ({ method, path }: Operation): string =>
  `${method}${path.replaceAll(/[/:]+/g, '_').replaceAll(/[^\w]/g, '_')}`

function answersOf({ answers }: Operation): ZodOpenApiResponsesObject {
  const responses = Object.entries(answers).map(([status, { description, schema, content, headers }]) => [status, {
    description,
    headers: headers ? commonHeaders.extend(headers.shape) : commonHeaders,
    ...((schema || content) && { content: contentOf(schema, content) }),
  }])
  return Object.fromEntries(responses) as ZodOpenApiResponsesObject
}

function contentOf(schema: z.ZodType | undefined, content: Record<string, z.ZodType | null> = {}) {
  return Object.fromEntries([...(schema ? [['application/json', schema] as const] : []), ...Object.entries(content)]
    .map(([type, one]) => [type, one ? { schema: one } : {}]))
}

/** One answer a status: the codes that share it stand together. */
function errorAnswers(operation: Operation): ZodOpenApiResponsesObject {
  const codesOfAll = errorsOf(operation)
  return Object.fromEntries([...new Set(codesOfAll.map(statusOf))].map((status) => {
    const codes = codesOfAll.filter((code) => statusOf(code) === status)
    return [status, errorAnswer(operation.path, status, codes)]
  }))
}

function errorAnswer(path: string, status: number, codes: ErrorCode[]): ZodOpenApiResponseObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${messageOf(code)}`).join('\n\n'),
    headers: status === 429 || status === 503 ? commonHeaders.extend(retryHeaders.shape) : commonHeaders,
    content: { 'application/json': { schema: errorSchema(path, codes) } },
  }
}
