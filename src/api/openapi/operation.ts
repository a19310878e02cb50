/**
 * One endpoint as the OpenAPI document describes it, and how that becomes an OpenAPI operation. Requests are described
 * by the schemas that validate them; the schemas of answers are in `answers.ts`.
 */
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { messageOf, shouldRetry } from '../../shared/platform/errors.ts'
import { errorSchema } from '../endpoint/answer-schemas.ts'
import type { DeclaredAnswer, Endpoint, Auth } from '../endpoint/declaration.ts'
import { statusIn } from '../middleware/request-context.ts'
import type { Envelope } from '../middleware/request-context.ts'

/** On every answer. */
const commonHeaders = z.object({
  'X-Request-Id': z.string().meta({
    description: 'The id of this request: your own, if you sent one of at most 128 letters, digits and `._:+/=@-`.',
  }),
})

/** On 429 and 503. */
const retryHeaders = z.object({
  'Retry-After': z.int().optional().meta({ description: 'When to try again, in whole seconds.' }),
})

/** What the document describes of an endpoint. */
export type Described = Omit<Endpoint, 'auth' | 'limits' | 'errors' | 'offered' | 'serve'> & {
  auth: Pick<Auth<unknown>, 'scheme' | 'roles'> | null
}

/** The security schemes of the document by which a holder can be known: any of them will do. */
const SECURITY: Record<Auth<unknown>['scheme'], readonly string[]> = {
  apiKey: ['apiKey', 'apiKeyHeader'],
  googleKey: ['googleKey', 'googleKeyInQuery'],
  sessionToken: ['sessionToken'],
  metricsToken: ['metricsToken'],
}

/** The operation in OpenAPI's own form. */
export function openApiOperation(operation: Described): ZodOpenApiOperationObject {
  const { tag, summary, auth, params, headers, body, form, bodyIsOptional = false } = operation
  const description = [operation.description, whoMay(auth?.roles)].filter((one) => one !== undefined).join('\n\n')
  const query = queryOf(operation)
  return {
    operationId: operationId(operation),
    tags: [tag],
    summary,
    ...(description !== '' && { description }),
    security: auth ? SECURITY[auth.scheme].map((scheme) => ({ [scheme]: [] })) : [],
    requestParams: { ...(params && { path: params }), ...(query && { query }), ...(headers && { header: headers }) },
    ...(body &&
      body !== 'ignored' && {
        requestBody: {
          required: !bodyIsOptional,
          content: Object.fromEntries(typesOf(form).map((type) => [type, { schema: body }])),
        },
      }),
    responses: { ...answersOf(operation), ...errorAnswers(operation) },
  }
}

/** The query of an operation, in all its forms. */
function queryOf({ query, forms = {} }: Described): z.ZodObject | undefined {
  const all = [query, ...Object.values(forms).map((form) => form.query)].filter((one) => one !== undefined)
  return all.length > 1 ? z.object(Object.assign({}, ...all.map(({ shape }) => shape)) as z.ZodRawShape) : all[0]
}

/** Which members of an account may use an operation, where that is not every one. */
const whoMay = (roles: Auth<unknown>['roles']): string | undefined =>
  roles && `Only for ${roles.join(' and ')} of the account: others get 403 \`forbidden\`.`

/** The media types of a body. */
const typesOf = (form: Described['form']): string[] => [
  ...(form ? ['multipart/form-data'] : []),
  ...(!form || form.orJson ? ['application/json'] : []),
]

/** `GET /v1/calls/:id` → `get_v1_calls_id`: a name for generated clients. */
const operationId = ({ method, path }: Described): string =>
  `${method}${path.replaceAll(/[/:*]+/g, '_').replaceAll(/[^\w]/g, '_')}`

function answersOf({ answers }: Described): ZodOpenApiResponsesObject {
  const responses = Object.entries(answers).map(([status, { description, schema, content, headers }]) => [
    status,
    {
      description,
      headers: headers ? commonHeaders.extend(headers.shape) : commonHeaders,
      ...((schema || content) && { content: contentOf(schema, content) }),
    },
  ])
  return Object.fromEntries(responses) as ZodOpenApiResponsesObject
}

function contentOf(schema: z.ZodType | undefined, content: DeclaredAnswer['content'] = {}) {
  return Object.fromEntries(
    [...(schema ? [['application/json', schema] as const] : []), ...Object.entries(content)].map(([type, one]) => [
      type,
      one ? { schema: one } : {},
    ]),
  )
}

/** One answer a status: the codes that share it are listed together. */
function errorAnswers({ codes: all, envelope = 'console', forms = {} }: Described): ZodOpenApiResponsesObject {
  const envelopes = [envelope, ...(Object.keys(forms) as Envelope[])]
  const answers = envelopes.flatMap((form) => [...all].map((code) => ({ form, code, status: statusIn(form, code) })))
  return Object.fromEntries(
    [...new Set(answers.map(({ status }) => status))].map((status) => {
      const ofStatus = answers.filter((one) => one.status === status)
      return [status, errorAnswer(status, ofStatus)]
    }),
  )
}

function errorAnswer(
  status: number,
  answers: readonly { form: Envelope; code: ErrorCode }[],
): ZodOpenApiResponseObject {
  const codes = [...new Set(answers.map(({ code }) => code))]
  const [first, ...others] = [...new Set(answers.map(({ form }) => form))].map((form) => errorSchema(form, codes))
  return {
    description: codes.map((code) => `\`${code}\`: ${messageOf(code)}`).join('\n\n'),
    headers: status === 503 || codes.some(shouldRetry) ? commonHeaders.extend(retryHeaders.shape) : commonHeaders,
    content: { 'application/json': { schema: others.length > 0 ? z.union([first!, ...others]) : first! } },
  }
}
