/**
 * How the endpoints that place calls are served: every check of a call, in its order. The charge checks the key under
 * the lock of its account, so the checks before it may use what was read of the key within the last second; only a
 * refusal may not (docs/performance.md#recent-keys).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Context, Middleware, ParameterizedContext } from 'koa'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { offerTo } from '../../../shared/catalogue/catalogue.ts'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import { newCallId } from '../../../shared/reports/call-records.ts'
import { unstreamed } from '../../../shared/requests/requests.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { Declaration } from '../../endpoint/declaration.ts'
import { longestBody, servedOf } from '../../endpoint/declaration.ts'
import { longestForm } from '../../forms/declared-form.ts'
import type { WebDeps } from '../../deps.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { readJsonBody } from '../../middleware/json-body.ts'
import type { SentForm } from '../../forms/read-form.ts'
import { isJson, readForm } from '../../forms/read-form.ts'
import type { RequestState, Served } from '../../middleware/request-context.ts'
import { countersOf } from '../../endpoint/serve.ts'
import { authenticateKey, refuseHolder, identify, apiKeyToken } from '../../endpoint/auth.ts'
import { beginAt, nameCall } from '../../middleware/request-context.ts'
import { prefersAsync } from './answer-call.ts'
import type { AskedModels, Asking } from './asked-models.ts'
import { inList, modelsOf, namedIn } from './asked-models.ts'
import { bufferUpdates } from './placed-call.ts'
import type { CallOrder } from './call-order.ts'
import { LargeCall } from './large-call.ts'
import { placeCall } from './place-call.ts'
import type { CallContext, PlacedCall, UpdateListener } from './placed-call.ts'
import { refuse } from './record-refusal.ts'
import { sessionOf, withoutGatewayFields } from './sessions.ts'
import { GroupChanged } from './unopened-calls.ts'
import { isDeepStrictEqual } from 'node:util'
import { ALLOWANCE_HEADERS, TOKEN_HEADERS } from '../../endpoint/allowances.ts'
import { clientAddress } from '../../middleware/client-address.ts'
import { isNumberedRetry } from './joined-calls.ts'

/** What a body asks for, and what it costs. */
export type Parsed = Pick<
  CallOrder,
  'request' | 'estimate' | 'charge' | 'sort' | 'lowerTo' | 'betas' | 'droppedTools' | 'deadlineSeconds'
>

/** What is specific to a modality. */
export type CallKind<M extends Model, P extends Parsed> = {
  modality: M['modality']
  /** Where a body names no model, the first that its key may call is taken. */
  mayOmitModel?: true
  /** The API of a chat, if it is not chat completions. */
  dialect?: Dialect
  /**
   * What is asked of the model by a JSON object or a form.
   * @param text how the object was written
   * @throws ApiError that names the field at fault.
   */
  parse: (body: JsonObject, model: M, headers?: IncomingHttpHeaders, text?: string) => P
  /** The body with what its path asks for. */
  named?: (body: JsonObject, params: Readonly<Record<string, string>>) => JsonObject
  /** The body with what it only refers to. @throws ApiError if that cannot be found */
  resolve?: (deps: WebDeps, body: JsonObject, holder: Principal) => Promise<JsonObject>
  /** Answers a placed call in the form that its client wants. */
  answer: (
    ctx: CallContext,
    deps: WebDeps,
    placed: PlacedCall,
    about: P & { updates: UpdateListener },
  ) => void | Promise<void>
}

/** Declares an endpoint that places calls. Its longest body is MAX_BODY_BYTES where it declares no other. */
export function callEndpoint<M extends Model, P extends Parsed, const D extends Declaration>(
  declaration: D,
  kind: CallKind<M, P>,
) {
  const declared = servedOf({ bodyBytes: ({ MAX_BODY_BYTES }) => MAX_BODY_BYTES, ...declaration })
  return { ...declared, serve: (deps: WebDeps) => serveCall(declared, kind, deps) }
}

/**
 * The order of the checks is the order of the lines: key, address, account, rate limits, the funds for a large body,
 * body, model, whether the key may call it, what the body refers to, its fields; then in `placeCall` the
 * Idempotency-Key, the upstream, the price guards, a call to join, the load, and the charge with the budget and the
 * balance. From `assignCallId` on a refusal is recorded as a rejected call. The charge checks the key again, under the
 * lock of its account: it may have been revoked or limited meanwhile.
 * A key that was looked up within the last second is looked up again before a refusal alone (`checkCaller`).
 */
function serveCall<M extends Model, P extends Parsed>(
  declared: Declaration & Omit<Served, 'maxBodyBytes'>,
  kind: CallKind<M, P>,
  deps: WebDeps,
): Middleware<RequestState> {
  const { dialect, answer } = kind
  const counters = countersOf(declared, deps)
  const { form: takenForm } = declared
  const ofJson = { ...declared, maxBodyBytes: longestBody(declared, deps.config) }
  const ofForm = takenForm && { ...declared, maxBodyBytes: longestForm(takenForm) }
  return async (ctx) => {
    const isForm = takenForm !== undefined && !(takenForm.orJson && isJson(ctx))
    beginAt(ctx, isForm && ofForm ? ofForm : ofJson)
    const principal = await callerOf(deps, ctx)
    const call = assignCallId(ctx as Context & { state: RequestState }, principal)
    const large = new LargeCall(deps, call, kind.modality)
    let body: JsonObject | null = null
    let form: SentForm | null = null
    // Only upstreams of another API than chat completions are promised its bytes.
    let text: string | undefined
    const take = (written: string): void => {
      text = dialect && written
    }
    try {
      refuseHolder(principal)
      await checkCaller(deps, call, async (holder) => {
        for (const count of counters) await count(ctx, holder)
      })
      if (isForm) form = await readForm(ctx, deps, takenForm, principal.accountId, large)
      const reading = { admit: large.admit, hold: large.hold, read: take }
      const own = form ? form.fields : await readJsonBody(ctx, deps, principal.accountId, reading)
      const read = kind.named?.(own, ctx.params as Record<string, string>) ?? own
      body = read
      await large.pause()
      const { models } = await checkCaller(deps, call, async (holder) => askedModels<M>(deps, kind, read, holder))
      // The charge checks of the key that it may call the first.
      if (models.length > 1) await hasChanged(deps, call)
      const resolved = kind.resolve ? await kind.resolve(deps, body, principal) : body
      const updates = bufferUpdates()
      const orderFor = async (holder: Principal) => {
        const asked = { ...orderOf(deps, kind, resolved, holder, { headers: ctx.req.headers, text }), dialect }
        await large.pause()
        const naming = { modality: kind.modality, headers: ctx.req.headers, body: read, dialect }
        const inSession = withSessions(asked, naming, { holder, secret: deps.config.APP_SECRET })
        // A retry has the body that was sent.
        return { ...orderForReader(ctx, inSession), body: read, files: form?.files, text }
      }
      const place = () => placeInGroup(call, deps, withSession(ctx, updates.onUpdate), orderFor)
      const { order, placed } = await checkCaller(deps, call, place)
      large.end()
      // Their worker has them now, or those of the call that was joined.
      await form?.release()
      // The job has it: a long text is not held until the answer.
      text = order.text = undefined
      await answer(call, deps, placed, { ...order, updates })
    } catch (thrown) {
      if (!call.state.opened) await large.countRefusal()
      throw await refuse(call, deps, kind, body ? namedIn(body) : '', await refusalNow(deps, call, thrown))
    } finally {
      large.end()
      await form?.release()
    }
  }
}

/** An order in its session: that of its id with each of its models. */
function withSessions<O extends CallOrder>(
  order: O,
  naming: Parameters<typeof sessionOf>[0],
  owner: { holder: Principal; secret: string },
): O {
  const sessionWith = (model: string) => sessionOf(naming, { ...owner, model })
  const models = order.models?.map((one) => ({ ...one, session: sessionWith(one.model) }))
  return { ...order, session: sessionWith(order.model.id), models }
}

/** Updates of a call, of which the session is a header of its answer. */
const withSession =
  (ctx: Context, onUpdate: (update: CallUpdate) => void) =>
  (update: CallUpdate): void => {
    if (update.type === 'session') ctx.set('X-Tollgate-Session', update.session)
    else onUpdate(update)
  }

/** How often a call is placed again because its account is given another group. */
const REGROUPINGS = 3

/**
 * Places a call; anew where its account is given another group meanwhile, which has models and prices of its own.
 * @param orderFor what is asked, by the group of the holder
 */
async function placeInGroup<O extends CallOrder>(
  ctx: CallContext,
  deps: WebDeps,
  onUpdate: (update: CallUpdate) => void,
  orderFor: (holder: Principal) => Promise<O>,
): Promise<{ order: O; placed: PlacedCall }> {
  for (let regroupings = 0; ; regroupings++) {
    const order = await orderFor(ctx.state.principal)
    if (order.droppedTools?.length) ctx.set('X-Tollgate-Tools-Dropped', order.droppedTools.join(', '))
    try {
      return { order, placed: await placeCall(ctx, deps, order, onUpdate) }
    } catch (error) {
      if (!(error instanceof GroupChanged) || regroupings === REGROUPINGS) throw error
      await authenticateKey(deps, ctx)
    }
  }
}

/**
 * What a body asks for, and what that costs: the checks of a call from its model to the last of its fields. Calls and
 * quotes both go through here.
 * @throws ApiError unsupported_model, model_not_allowed, invalid_prompt, invalid_messages, or invalid_request that
 * names the field.
 */
export function orderOf<M extends Model, P extends Parsed>(
  { catalogue }: Pick<WebDeps, 'catalogue'>,
  kind: Asking & Pick<CallKind<M, P>, 'parse'>,
  body: JsonObject,
  holder: Principal,
  { headers, text }: { headers?: IncomingHttpHeaders; text?: string | undefined } = {},
): OrderOf<M, P> {
  const asked = askedModels<M>({ catalogue }, kind, body, holder)
  const orderAt = (model: M): OrderOf<M, P> => {
    const own = asked.body === body ? body : { ...asked.body, model: model.id }
    const read = kind.modality === 'chat' ? withoutGatewayFields(own, model) : own
    return { ...kind.parse(read, model, headers, text), model, body }
  }
  const [first, ...further] = asked.models
  return inList([orderAt(first), ...further.map(orderAt)])
}

/** The models that a body asks for, of those that its holder is offered. @throws ApiError like `modelsOf` */
const askedModels = <M extends Model>(
  { catalogue }: Pick<WebDeps, 'catalogue'>,
  kind: Asking,
  body: JsonObject,
  holder: Principal,
): AskedModels<M> => modelsOf<M>(offerTo(catalogue.current(), holder), kind, body, holder)

type OrderOf<M, P> = P & { model: M; body: JsonObject } & Pick<CallOrder, 'models'>

/**
 * A chat whose client does not wait is not streamed: nobody would read its chunks, and it could not be continued by
 * another worker or upstream.
 */
const orderForReader = <O extends Pick<CallOrder, 'request'>>(ctx: Context, order: O): O =>
  prefersAsync(ctx) ? { ...order, request: unstreamed(order.request) } : order

/** Gives a call its id. */
function assignCallId(
  ctx: Context & { state: RequestState },
  principal: CallContext['state']['principal'],
): CallContext {
  const callId = newCallId()
  nameCall(ctx, callId)
  Object.assign(ctx.state, { principal })
  return ctx as CallContext
}

type KeyDeps = Pick<WebDeps, 'keys' | 'config'>

/**
 * The holder of the key of a request that places a call. A numbered retry may get an earlier answer without a charge,
 * so its key is always looked up.
 * @throws ApiError unauthorized
 */
export async function callerOf(deps: KeyDeps, ctx: ParameterizedContext<RequestState>): Promise<Principal> {
  const address = clientAddress(ctx.req, deps.config.TRUST_PROXY)
  const recent = isNumberedRetry(ctx) ? undefined : deps.keys.recent(apiKeyToken(ctx), address)
  if (!recent) return authenticateKey(deps, ctx)
  ctx.state.isRecentCaller = true
  return identify(ctx, recent)
}

/**
 * Runs a check of a caller; again if it refuses them by what was read within the last second, and is not so now.
 * @throws ApiError of the check; unauthorized, ip_not_allowed or account_suspended if that is so by now
 */
export async function checkCaller<T>(
  deps: KeyDeps,
  ctx: CallContext,
  check: (holder: Principal) => Promise<T>,
): Promise<T> {
  try {
    return await check(ctx.state.principal)
  } catch (error) {
    if (!(error instanceof ApiError && (await hasChanged(deps, ctx)))) throw error
    return check(ctx.state.principal)
  }
}

/**
 * Looks a caller up again, unless their key was looked up for this very request or the call is charged.
 * @returns whether they may do other things than was read before
 */
async function hasChanged(deps: KeyDeps, ctx: CallContext): Promise<boolean> {
  if (!ctx.state.isRecentCaller || ctx.state.opened) return false
  const before = ctx.state.principal
  ctx.state.isRecentCaller = false
  const now = await authenticateKey(deps, ctx).catch((error: unknown) => {
    hideLimits(ctx)
    throw error
  })
  refuseHolder(now)
  return !isDeepStrictEqual(limitsOf(now), limitsOf(before))
}

/** Only the holder of a valid key sees what is left of its limits. */
function hideLimits(ctx: CallContext): void {
  for (const name of [...ALLOWANCE_HEADERS, ...TOKEN_HEADERS]) ctx.remove(name)
}

/** What a holder may do, without what they have used of it. */
const limitsOf = ({ tokens, ...holder }: Principal) => ({ ...holder, tokens: tokens.map(({ limit }) => limit) })

/** The refusal of a call: where its key is refused by now, that precedes any other. */
export async function refusalNow(deps: KeyDeps, ctx: CallContext, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof ApiError)) {
    // For example, Postgres is unreachable: whether the key is still valid is unknown.
    if (ctx.state.isRecentCaller && !ctx.state.opened) hideLimits(ctx)
    return thrown
  }
  try {
    await hasChanged(deps, ctx)
    return thrown
  } catch (error) {
    return error
  }
}
