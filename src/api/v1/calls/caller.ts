/**
 * Who places a call. The charge checks their key under the lock of its account, so the checks before it may use what
 * was read of the key within the last second; only a refusal may not (docs/performance.md#recent-keys).
 */
import { isDeepStrictEqual } from 'node:util'
import type { ParameterizedContext } from 'koa'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { ALLOWANCE_HEADERS, TOKEN_HEADERS } from '../../endpoint/allowances.ts'
import { authenticateKey, identify, refuseHolder } from '../../endpoint/auth.ts'
import { apiKeyToken } from '../../middleware/bearer.ts'
import { clientAddress } from '../../middleware/client-address.ts'
import type { RequestState } from '../../middleware/request-context.ts'
import { isNumberedRetry } from './joined-calls.ts'
import type { CallContext } from './placed-call.ts'

type KeyDeps = Pick<WebDeps, 'keys' | 'config'>

/**
 * The holder of the key of a request that places a call. A numbered retry may get an earlier answer without a charge,
 * so its key is always looked up.
 * @throws ApiError unauthorized
 */
export async function callerOf(deps: KeyDeps, ctx: ParameterizedContext<RequestState>): Promise<Principal> {
  const address = clientAddress(ctx.req, deps.config.TRUST_PROXY)
  const recent = isNumberedRetry(ctx) ? undefined : deps.keys.recent(apiKeyToken(ctx.req.headers), address)
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
