/**
 * How a declared endpoint is served: what its declaration says is checked, in one order, before its handler runs.
 */
import type { Context, Middleware, ParameterizedContext } from 'koa'
import type { z } from 'zod'
import type { AccountId } from '../shared/ids.ts'
import { ApiError } from '../shared/errors.ts'
import type { WebDeps } from './deps.ts'
import type { Endpoint, RequestFacts } from './endpoint.ts'
import { Reply } from './endpoint.ts'
import type { LimitUse } from './limits.ts'
import { clientAddress, networkOf } from './middleware/client-address.ts'
import { deviceOf } from './middleware/device.ts'
import type { JsonObject } from './middleware/json-body.ts'
import { readJsonBody, readOptionalJsonBody } from './middleware/json-body.ts'
import type { RequestState } from './middleware/request-context.ts'
import { parseFields } from './parse-fields.ts'

type Request = ParameterizedContext<RequestState>

/** The middleware that serves an endpoint. The order of the checks is the order of its lines. */
export function serveEndpoint(declared: Endpoint, deps: WebDeps): Middleware<RequestState> {
  const { TRUST_PROXY } = deps.config
  const find = declared.who?.find(deps)
  const counters = (declared.limits ?? []).map((use) => counter(use, deps))
  const readBody = bodyReader(declared)
  const bodySchema = declared.body === 'ignored' ? undefined : declared.body
  const handler = declared.handler(deps)
  return async (ctx) => {
    ctx.state.endpoint = declared
    const who = find ? await find(ctx) : null
    for (const count of counters) await count(ctx, who)
    const sent = readBody && (await readBody(ctx))
    const params = declared.params && parseParams(declared.params, ctx.params)
    const query = declared.query && parseFields(declared.query, ctx.query)
    const body = bodySchema && parseFields(bodySchema, sent)
    const input = { who, params, query, body, request: factsOf(ctx, TRUST_PROXY) }
    const answer = await handler(input as never, ctx as Context & { state: RequestState })
    if (!declared.writes) send(ctx, answer)
  }
}

function send(ctx: Request, answer: unknown): void {
  if (answer instanceof Reply) ctx.status = answer.status
  ctx.body = answer instanceof Reply ? answer.body : answer
}

/** Counts a request against a limit. @throws ApiError rate_limited. */
function counter({ limit, per }: LimitUse, { config, limits }: WebDeps) {
  return per === 'client'
    ? (ctx: Request) => limits[limit].take(networkOf(clientAddress(ctx.req, config.TRUST_PROXY)))
    : (_ctx: Request, who: unknown) => limits[limit].take((who as { accountId: AccountId }).accountId)
}

function bodyReader({ body, bodyIsOptional }: Endpoint): ((ctx: Request) => Promise<JsonObject>) | undefined {
  if (!body) return undefined
  return body === 'ignored' || bodyIsOptional ? readOptionalJsonBody : readJsonBody
}

function parseParams(schema: z.ZodObject, params: unknown): unknown {
  const parsed = schema.safeParse(params)
  if (!parsed.success) throw new ApiError('not_found')
  return parsed.data
}

const factsOf = (ctx: Request, trustedHops: number): RequestFacts => ({
  requestId: ctx.state.requestId,
  traceparent: ctx.state.traceparent,
  device: () => deviceOf(ctx, trustedHops),
})
