/**
 * How a declared endpoint is served: what it declares is checked, in one order, before its handler runs.
 */
import type { Context, Middleware, ParameterizedContext } from 'koa'
import type { z } from 'zod'
import type { Membership } from '../../shared/identity/members.ts'
import type { Principal } from '../../shared/identity/key-lookup.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { ApiError, isErrorCode } from '../../shared/platform/errors.ts'
import { networkOf } from '../../shared/platform/net/networks.ts'
import type { Allowance } from './allowances.ts'
import { ALLOWANCE_HEADERS, allowanceHeaders, limitsOf } from './allowances.ts'
import type { WebDeps } from '../deps.ts'
import type { Declaration, RequestFacts } from './declaration.ts'
import { Reply, longestBody } from './declaration.ts'
import { recordView } from '../../shared/action-log/recorded-views.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import type { LimitUse } from './rate-limits.ts'
import { viewOf } from '../operator/recorded-views.ts'
import { bindBrowser, browserOf } from '../middleware/browser-cookie.ts'
import { clientAddress, deviceOf } from '../middleware/client-address.ts'
import { beginAt } from '../middleware/request-context.ts'
import { onFinished } from '../server/on-finished.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { hasBody, readJsonBody, maxBytesOf } from '../middleware/json-body.ts'
import type { RequestState, Served } from '../middleware/request-context.ts'
import { languageAsked } from '../../shared/terms/languages.ts'
import { fieldFault, fieldPath, fieldRefusal } from '../../shared/platform/field-errors.ts'

type Request = ParameterizedContext<RequestState>

const [, REMAINING] = ALLOWANCE_HEADERS

/** A handler as it is called: its input is what was declared. */
export type AnyHandler = (input: never, ctx: Context & { state: RequestState }) => unknown

/**
 * The middleware that serves an endpoint. The order of the checks is the order of its lines.
 * @param writes the handler writes its answer by itself
 */
export function serveDeclared(
  declared: Declaration & Omit<Served, 'maxBodyBytes'>,
  handler: AnyHandler,
  deps: WebDeps,
  { writes = false } = {},
): Middleware<RequestState> {
  const find = declared.auth?.find(deps)
  const inTurn = turnsOf(declared, deps)
  const counters = countersOf(declared, deps)
  const readBody = bodyReader(declared, deps)
  const bodySchema = declared.body === 'ignored' ? undefined : declared.body
  const endpoint = { ...declared, maxBodyBytes: longestBody(declared, deps.config) }
  return async (ctx) => {
    beginAt(ctx, endpoint)
    const auth = find ? await find(ctx) : null
    for (const count of counters) await count(ctx, auth)
    const sent = readBody && (await readBody(ctx, auth))
    const params = declared.params && parseParams(declared.params, ctx.params)
    const query = declared.query && parseFields(declared.query, ctx.query)
    const body = bodySchema && parseFields(bodySchema, sent)
    const input = { auth, params, query, body, request: factsOf(ctx, deps.config, sent) }
    await inTurn(auth, async () => {
      const answer = await handler(input as never, ctx as Context & { state: RequestState })
      if (declared.views === 'accounts') await recordViewIn(declared, deps, input, answer)
      if (!writes) send(ctx, answer)
    })
  }
}

/** Records what an operator is about to see: what cannot be recorded is not shown. */
async function recordViewIn(
  { path }: Declaration,
  { db }: WebDeps,
  { auth, params, query }: { auth: unknown; params: unknown; query: unknown },
  answer: unknown,
): Promise<void> {
  const view = viewOf({ path, params, query, answer: answer instanceof Reply ? answer.body : answer })
  if (view) await recordView(db, (auth as LiveSession).userId, view)
}

/**
 * Waits for the turn of a request of the console, which takes a connection to Postgres: one person must not take them
 * all, however many accounts they act for, nor the turns of others who act for the same one. A visitor, who has no
 * session, waits for none. @throws ApiError rate_limited.
 */
function turnsOf(
  { auth }: Declaration,
  { consoleQueue }: WebDeps,
): (holder: unknown, work: () => Promise<void>) => Promise<void> {
  if (auth?.scheme !== 'sessionToken') return (_, work) => work()
  return (holder, work) => {
    const session = holder as LiveSession | null
    return session ? consoleQueue.during(session.userId, work) : work()
  }
}

function send(ctx: Request, answer: unknown): void {
  if (answer instanceof Reply) ctx.status = answer.status
  ctx.body = answer instanceof Reply ? answer.body : answer
}

/**
 * Counts a request of a holder; if the limit is shown, answers have what is left. Null if the holder
 * has no such limit. @throws ApiError rate_limited.
 */
type Counter = (ctx: Request, auth: unknown) => Promise<void> | null

/** The limits of an endpoint, in their order. */
export const countersOf = ({ limits = [] }: Declaration, deps: WebDeps): Counter[] =>
  limits.map((use) => counter(use, deps))

function counter({ limit: name, per, perBytes, shown }: LimitUse, deps: WebDeps): Counter {
  const { config, limits } = deps
  const limit = limits[name]
  if (per === 'holder') {
    return (ctx, auth) => {
      const holder = auth as Principal
      const { rateLimit } = limitsOf(deps, holder)
      return showTaken(ctx, shown, () => limit.take(holder.accountId, { points: rateLimit }))
    }
  }
  if (per === 'key') {
    return (ctx, auth) => {
      const { keyId, rateLimit } = auth as Pick<Principal, 'keyId' | 'rateLimit'>
      return rateLimit === null ? null : showTaken(ctx, shown, () => limit.take(keyId, { points: rateLimit }))
    }
  }
  const keyOf = (ctx: Request, auth: unknown): string => {
    if (per === 'client') return clientAddress(ctx.req, config.TRUST_PROXY)
    const { userId, accountId } = auth as Membership
    return per === 'user' ? userId : accountId
  }
  const unitsOf = (bytes: number): number => (perBytes === undefined ? 1 : Math.ceil(bytes / perBytes) || 1)
  return (ctx, auth) => {
    const key = keyOf(ctx, auth)
    onFinished(ctx as Context, () => {
      const more = unitsOf(Number(ctx.res.getHeader('content-length') ?? 0)) - 1
      // Beyond the limit it counts, too: the next request is refused.
      if (more > 0) limit.take(key, { count: more }).catch(() => {})
    })
    return showTaken(ctx, shown, () => limit.take(key, { count: unitsOf(bytesOf(ctx)) }))
  }
}

/** How long a body states that it is; as long as it may be, if it states nothing. */
const bytesOf = (ctx: Request): number =>
  ctx.get('transfer-encoding') === '' ? Number(ctx.get('content-length')) : maxBytesOf(ctx)

async function showTaken(ctx: Request, shown: boolean | undefined, take: () => Promise<Allowance>): Promise<void> {
  show(ctx, shown, await take())
}

/** Sets the headers that show what is left of a limit, unless less is left of another one. */
function show(ctx: Request, shown: boolean | undefined, allowance: Allowance): void {
  if (!shown) return
  const leavesLess = !ctx.res.hasHeader(REMAINING) || allowance.remaining < Number(ctx.res.getHeader(REMAINING))
  if (!leavesLess) return
  // Koa's own setter looks each header up first.
  const headers = allowanceHeaders(allowance)
  for (const name of ALLOWANCE_HEADERS) ctx.res.setHeader(name, headers[name])
}

/** Reads a body, which is counted for the account of its sender, or for their network where nobody has logged in. */
function bodyReader(
  { body, bodyIsOptional }: Declaration,
  deps: WebDeps,
): ((ctx: Request, auth: unknown) => Promise<JsonObject>) | undefined {
  if (!body) return undefined
  const mayBeAbsent = body === 'ignored' || bodyIsOptional
  return async (ctx, auth) => {
    if (mayBeAbsent && !hasBody(ctx)) return {}
    const account = (auth as { accountId: AccountId } | null)?.accountId
    return readJsonBody(ctx, deps, account ?? networkOf(clientAddress(ctx.req, deps.config.TRUST_PROXY)))
  }
}

function parseParams(schema: z.ZodObject, params: unknown): unknown {
  const parsed = schema.safeParse(params)
  if (!parsed.success) throw new ApiError('not_found', { message: parsed.error.issues[0]!.message })
  return parsed.data
}

const factsOf = (ctx: Request, config: WebDeps['config'], sent: JsonObject = {}): RequestFacts => ({
  requestId: ctx.state.requestId,
  traceparent: ctx.state.traceparent,
  device: () => deviceOf(ctx, config.TRUST_PROXY),
  language: () => languageAsked(ctx.get('accept-language')),
  sentFields: () => Object.keys(sent),
  browser: () => browserOf(ctx as Context, config),
  bindBrowser: () => bindBrowser(ctx as Context, config),
})

/**
 * Parses a query or a body.
 * @throws ApiError the code that a field's schema names as its message, else invalid_request whose message begins with
 *   the field at fault.
 */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.infer<S> {
  const parsed = schema.safeParse(fields, { error: fieldFault })
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const param = fieldPath(path)
  if (isErrorCode(message) && message !== 'invalid_request') throw new ApiError(message, { param })
  throw fieldRefusal(param, message)
}
