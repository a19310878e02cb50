/**
 * The record of a refused call.
 */
import type { Context } from 'koa'
import type { Refusal } from '../../../shared/calls/refusal-records.ts'
import { isNotMigrated, isUnreachable } from '../../../shared/platform/postgres/db.ts'
import type { ApiError } from '../../../shared/platform/errors.ts'
import { traceFields } from '../../../shared/platform/process/trace.ts'
import type { WebDeps } from '../../deps.ts'
import { ALLOWANCE_HEADERS, TOKEN_HEADERS } from '../../endpoint/allowances.ts'
import { toApiError } from '../../middleware/error-handler.ts'
import { forgetCall, nameCall } from '../../middleware/request-context.ts'
import type { CallContext } from './placed-call.ts'

/** What was asked for, and in which dialect. */
type Kind = Pick<Refusal, 'modality' | 'dialect'>

type RefusalDeps = Pick<WebDeps, 'recordRefusal' | 'log' | 'metrics' | 'replies' | 'schema'>

/**
 * Records a refusal (any 4xx and 503) as a rejected call at no credits, before its answer goes out, so that its client
 * can look it up. A request whose key was revoked before its charge is not recorded; a call that was charged has its
 * own record.
 * @param model as it was asked for; any text
 * @returns the error to answer with
 */
export async function refuse(
  ctx: CallContext,
  deps: RefusalDeps,
  kind: Kind,
  model: string,
  thrown: unknown,
): Promise<unknown> {
  if (ctx.state.opened) return thrown
  const error = toApiError(thrown, deps.schema)
  if (isRecorded(error)) await record(ctx, deps, kind, model, error)
  else forgetCall(ctx)
  // Of a key that was refused after it had been counted: its refusal precedes the limits, whenever it is noticed.
  if (OF_THE_KEY.has(error.code)) withdraw(ctx, ALLOWANCE_HEADERS)
  if (error.code === 'unauthorized') withdraw(ctx, TOKEN_HEADERS)
  return error
}

const OF_THE_KEY: ReadonlySet<string> = new Set(['unauthorized', 'ip_not_allowed', 'account_suspended'])

/**
 * Not recorded: a request without a valid key, and any refusal while Postgres is down or not migrated yet, so that no
 * client waits for a record that cannot be written.
 */
const isRecorded = ({ code, status, cause }: ApiError): boolean =>
  code !== 'unauthorized' && (status < 500 || status === 503) && !isUnreachable(cause) && !isNotMigrated(cause)

function withdraw(ctx: Context, headers: readonly string[]): void {
  for (const name of headers) ctx.remove(name)
}

async function record(
  ctx: CallContext,
  { recordRefusal, log, metrics, replies }: RefusalDeps,
  { modality, dialect }: Kind,
  model: string,
  error: ApiError,
): Promise<void> {
  const {
    principal: { accountId, keyId, userId },
    callId,
    requestId,
    acceptedAt,
  } = ctx.state
  metrics.refused(modality, error.code)
  try {
    const recorded = await recordRefusal({
      id: callId,
      accountId,
      keyId,
      userId,
      modality,
      dialect,
      error: error.code,
      requestId,
      model,
      latencyMs: Math.round(performance.now() - acceptedAt),
    })
    nameCall(ctx, recorded)
    replies.publishEvent(accountId, { callId: recorded, status: 'rejected', balance: null })
  } catch (cause) {
    // The client gets the refusal even if it cannot be recorded.
    forgetCall(ctx)
    log.warn({ ...traceFields(ctx.state), err: cause }, 'refusal not recorded')
  }
}
