/**
 * How a declared endpoint is served: what its declaration says is checked, in one order, before its handler runs.
 */
import type { Context, Middleware, ParameterizedContext } from 'koa'
import type { z } from 'zod'
import type { Principal } from '../shared/accounts/key-lookup.ts'
import type { AccountId } from '../shared/ids.ts'
import { ApiError } from '../shared/errors.ts'
import type { WebDeps } from './deps.ts'
import type { Declaration, RequestFacts } from './declaration.ts'
import { Reply } from './declaration.ts'
import type { Allowance, LimitUse } from './limits.ts'
import { ALLOWANCE_HEADERS, allowanceHeaders } from './limits.ts'
import { clientAddress, networkOf } from './middleware/client-address.ts'
import { deviceOf } from './middleware/device.ts'
import type { JsonObject } from './middleware/json-body.ts'
import { hasBody, readJsonBody } from './middleware/json-body.ts'
import type { RequestState, Served } from './middleware/request-context.ts'
import { parseFields } from './parse-fields.ts'

type Request = ParameterizedContext<RequestState>

const [, REMAINING] = ALLOWANCE_HEADERS

/** A handler as it is called: its input is what its declaration says. */
export type AnyHandler = (input: never, ctx: Context & { state: RequestState }) => unknown

/**
 * The middleware that serves an endpoint. The order of the checks is the order of its lines.
 * @param writes the handler writes its answer by itself
 */
export function serveDeclared(
  declared: Declaration & Served,
  handler: AnyHandler,
  deps: WebDeps,
  { writes = false } = {},
): Middleware<RequestState> {
  const { TRUST_PROXY } = deps.config
  const find = declared.who?.find(deps)
  const counters = countersOf(declared, deps)
  const readBody = bodyReader(declared, deps)
  const bodySchema = declared.body === 'ignored' ? undefined : declared.body
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
    if (!writes) send(ctx, answer)
  }
}

function send(ctx: Request, answer: unknown): void {
  if (answer instanceof Reply) ctx.status = answer.status
  ctx.body = answer instanceof Reply ? answer.body : answer
}

/** Counts a request of a holder; answers tell what is left where the limit is told. @throws ApiError rate_limited. */
type Counter = (ctx: Request, who: unknown) => Promise<void>

/** The limits of an endpoint, in their order. */
export const countersOf = ({ limits = [] }: Declaration, deps: WebDeps): Counter[] =>
  limits.map((use) => counter(use, deps))

function counter({ limit: name, per, told }: LimitUse, { config, limits }: WebDeps): Counter {
  const limit = limits[name]
  if (per === 'key') {
    return async (ctx, who) => {
      const { keyId, rateLimit } = who as Pick<Principal, 'keyId' | 'rateLimit'>
      if (rateLimit !== null) tell(ctx, told, await limit.take(keyId, rateLimit))
    }
  }
  const keyOf =
    per === 'client'
      ? (ctx: Request) => networkOf(clientAddress(ctx.req, config.TRUST_PROXY))
      : (_ctx: Request, who: unknown) => (who as { accountId: AccountId }).accountId
  return async (ctx, who) => tell(ctx, told, await limit.take(keyOf(ctx, who)))
}

/** Tells what is left of a limit, unless another one leaves less. */
function tell(ctx: Request, told: boolean | undefined, allowance: Allowance): void {
  if (!told) return
  const leavesLess = !ctx.res.hasHeader(REMAINING) || allowance.remaining < Number(ctx.res.getHeader(REMAINING))
  if (leavesLess) ctx.set(allowanceHeaders(allowance))
}

/** Reads a body, which is counted for the network of its client. */
function bodyReader(
  { body, bodyIsOptional }: Declaration,
  { config, incoming }: WebDeps,
): ((ctx: Request) => Promise<JsonObject>) | undefined {
  if (!body) return undefined
  const mayBeAbsent = body === 'ignored' || bodyIsOptional
  return async (ctx) =>
    mayBeAbsent && !hasBody(ctx)
      ? {}
      : readJsonBody(ctx, incoming, networkOf(clientAddress(ctx.req, config.TRUST_PROXY)))
}

function parseParams(schema: z.ZodObject, params: unknown): unknown {
  const parsed = schema.safeParse(params)
  if (!parsed.success) throw new ApiError('not_found', { message: parsed.error.issues[0]!.message })
  return parsed.data
}

const factsOf = (ctx: Request, trustedHops: number): RequestFacts => ({
  requestId: ctx.state.requestId,
  traceparent: ctx.state.traceparent,
  device: () => deviceOf(ctx, trustedHops),
})
