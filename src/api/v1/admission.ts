/**
 * What every call passes before its own fields are looked at: key → account → rate limit → media type, size, JSON
 * (docs/api.md#the-order-of-checks), and the record that a refusal leaves.
 */
import type { Context, Middleware } from 'koa'
import { ApiError } from '../../shared/errors.ts'
import { isUnreachable } from '../../shared/infra/db.ts'
import { publicId } from '../../shared/ids.ts'
import type { Modality } from '../../shared/calls/lifecycle.ts'
import { newCallId, recordRefusal } from '../../shared/calls/records.ts'
import { traceFields } from '../../shared/infra/trace.ts'
import type { WebDeps } from '../deps.ts'
import type { Limit } from '../limits.ts'
import { ALLOWANCE_HEADERS, allowanceHeaders } from '../limits.ts'
import { bearerToken } from '../middleware/bearer.ts'
import { toApiError } from '../middleware/error-handler.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { modelOf } from './schemas.ts'

/**
 * Finds the holder of the key.
 * @throws ApiError unauthorized. A suspended account is let through here: its refusal is recorded as a call's.
 */
export function requireKey({ keys }: Pick<WebDeps, 'keys'>): Middleware<RequestState> {
  return async (ctx, next) => {
    const principal = await keys.find(bearerToken(ctx.get('authorization')))
    if (!principal) throw new ApiError('unauthorized', { message: 'The API key is unknown or has been revoked.' })
    ctx.state.principal = principal
    ctx.state.suspended = principal.status === 'suspended'
    await next()
  }
}

/** Counts the request against a limit of its account. @throws ApiError account_suspended, rate_limited. */
export function admit(limit: Limit): Middleware<RequestState> {
  return async (ctx, next) => {
    if (ctx.state.suspended) throw new ApiError('account_suspended')
    ctx.set(allowanceHeaders(await limit.take(ctx.state.principal!.accountId)))
    await next()
  }
}

/**
 * Gives a call its id, and records a refusal below it (any 4xx and 503) as a rejected call at no credits. The record is
 * written before the answer goes out, so that whoever gets the refusal can look it up. A request whose key was revoked before its
 * charge is nobody's call.
 */
export function recordRefusals(
  deps: Pick<WebDeps, 'db' | 'log' | 'metrics' | 'replies'>,
  modality: Modality,
): Middleware<RequestState> {
  return async (ctx, next) => {
    ctx.state.callId = newCallId()
    ctx.set('X-Call-Id', publicId('call', ctx.state.callId))
    try {
      await next()
    } catch (thrown) {
      if (ctx.state.opened) throw thrown
      const error = toApiError(thrown)
      if (isRecorded(error)) await record(deps, ctx, modality, error)
      else forgetCall(ctx)
      // The key was revoked after it was looked up: its holder is told of no allowance either.
      if (error.code === 'unauthorized') withdraw(ctx, ALLOWANCE_HEADERS)
      throw error
    }
  }
}

/** Nobody's call is not; and where Postgres is away nobody is kept waiting for a record that cannot be written. */
const isRecorded = ({ code, status, cause }: ApiError): boolean =>
  code !== 'unauthorized' && (status < 500 || status === 503) && !isUnreachable(cause)

function forgetCall(ctx: Context & { state: RequestState }): void {
  delete ctx.state.callId
  withdraw(ctx, ['X-Call-Id'])
}

function withdraw(ctx: Context, headers: readonly string[]): void {
  for (const name of headers) ctx.remove(name)
}

async function record(
  { db, log, metrics, replies }: Pick<WebDeps, 'db' | 'log' | 'metrics' | 'replies'>,
  ctx: Context & { state: RequestState },
  modality: Modality,
  error: ApiError,
) {
  const { principal, callId, requestId, acceptedAt } = ctx.state
  const body = bodyOf(ctx) as unknown
  metrics.refused(modality, error.code)
  try {
    const recorded = await recordRefusal(db, {
      id: callId!,
      accountId: principal!.accountId,
      keyId: principal!.keyId,
      modality,
      error: error.code,
      requestId,
      model: typeof body === 'object' && body !== null ? modelOf(body as Record<string, unknown>) : '',
      latencyMs: Math.round(performance.now() - acceptedAt),
    })
    ctx.state.callId = recorded
    ctx.set('X-Call-Id', publicId('call', recorded))
    replies.publishEvent(principal!.accountId, { callId: recorded, status: 'rejected', balance: null })
  } catch (cause) {
    // The refusal stands even where it cannot be recorded: its client must hear it.
    forgetCall(ctx)
    log.warn({ ...traceFields(ctx.state), err: cause }, 'refusal not recorded')
  }
}
