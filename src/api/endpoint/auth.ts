/**
 * Who may use an endpoint: a user who is logged in, by their role for the account that they act for; an operator; or
 * the holder of an API key. Anything else is 403 `forbidden`.
 *
 * | role for the account | endpoints |
 * |---|---|
 * | every member | `session`: themselves, the balance, their own keys, calls and usage |
 * | owner and admins | `manager`: members, invitations, the ledger, grants, billing, webhooks; and of what a `session`
 *   lists, that of all members |
 * | owner | `owner`: handing the account over |
 *
 * Where SECOND_FACTOR requires a second factor that a user has not set up, they may use what is for `anySession` alone.
 */
import type { ParameterizedContext } from 'koa'
import type { Principal } from '../../shared/identity/key-lookup.ts'
import type { Model } from '../../shared/catalogue/catalogue.ts'
import type { MemberRole } from '../../shared/identity/members.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import { findSession } from '../../shared/identity/sessions.ts'
import { roleOf } from '../../shared/identity/users.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { tokenHeaders } from './allowances.ts'
import type { Auth } from './declaration.ts'
import type { WebDeps } from '../deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { envelopeFor, googleKeysIn } from '../middleware/request-context.ts'
import type { RequestState } from '../middleware/request-context.ts'

/**
 * A user who is logged in, also one who must set up a second factor first. A suspended account's sessions have ended.
 */
export const anySession: Auth<LiveSession> = {
  scheme: 'sessionToken',
  errors: ['unauthorized', 'rate_limited'],
  find: (deps) => (ctx) => sessionOf(deps, ctx),
}

/** A user who is logged in. */
export const session: Auth<LiveSession> = {
  ...anySession,
  errors: [...anySession.errors, 'second_factor_required'],
  find: (deps) => async (ctx) => {
    const found = await sessionOf(deps, ctx)
    if (found.mustAddFactor) throw new ApiError('second_factor_required')
    return found
  },
}

/** As `anySession`, who logged in or gave their password within the last 5 minutes. */
export const freshSession: Auth<LiveSession> = {
  ...anySession,
  errors: [...anySession.errors, 'proof_required'],
  find: (deps) => async (ctx) => proven(await sessionOf(deps, ctx), 'isFresh'),
}

/** As `anySession`, who logged in, or gave their password or a code, within the last 15 minutes. */
export const provenSession: Auth<LiveSession> = {
  ...freshSession,
  find: (deps) => async (ctx) => proven(await sessionOf(deps, ctx), 'isProven'),
}

/** As `session`, who logged in or proved themselves within the last 5 minutes. */
export const freshMember: Auth<LiveSession> = withProof('isFresh')

/** As `session`, who logged in or proved themselves within the last 15 minutes. */
export const provenMember: Auth<LiveSession> = withProof('isProven')

function withProof(by: 'isFresh' | 'isProven'): Auth<LiveSession> {
  return {
    ...session,
    errors: [...session.errors, 'proof_required'],
    find: (deps) => {
      const find = session.find(deps)
      return async (ctx) => proven(await find(ctx), by)
    },
  }
}

/** @throws ApiError proof_required. */
function proven(found: LiveSession, by: 'isFresh' | 'isProven'): LiveSession {
  if (!found[by]) throw new ApiError('proof_required')
  return found
}

/** A user who is logged in, and has one of these roles for the account that they act for at this moment. */
const withRole = (...roles: MemberRole[]): Auth<LiveSession> => ({
  ...session,
  roles,
  errors: [...session.errors, 'forbidden'],
  find: (deps) => {
    const find = session.find(deps)
    return async (ctx) => {
      const found = await find(ctx)
      if (!roles.includes(found.role)) {
        throw new ApiError('forbidden', { message: `This is for ${roles.join(' and ')} of the account.` })
      }
      return found
    }
  },
})

/** The owner and the admins of an account. */
export const manager = withRole('owner', 'admin')

/** The owner of an account. */
export const owner = withRole('owner')

/** A user whose role is `admin` at this moment. */
export const operator: Auth<LiveSession> & { sees: 'others' } = {
  ...session,
  sees: 'others',
  errors: [...session.errors, 'forbidden'],
  find: (deps) => {
    const find = session.find(deps)
    return async (ctx) => {
      const found = await find(ctx)
      if ((await roleOf(deps.db, found.userId)) !== 'admin') throw new ApiError('forbidden')
      return found
    }
  },
}

/** An operator who has proved themselves within the last 15 minutes: a stolen session alone gives nothing away. */
export const provenOperator: typeof operator = {
  ...operator,
  errors: [...operator.errors, 'proof_required'],
  find: (deps) => {
    const find = operator.find(deps)
    return async (ctx) => proven(await find(ctx), 'isProven')
  },
}

/** A user who is logged in; with `PUBLIC_CATALOGUE` also a visitor without a token: null. */
export const visitor: Auth<LiveSession | null> = {
  scheme: 'sessionToken',
  errors: session.errors,
  find: (deps) => {
    const find = session.find(deps)
    const isOpen = deps.config.PUBLIC_CATALOGUE === 'on'
    return async (ctx) => (isOpen && ctx.get('authorization') === '' ? null : find(ctx))
  },
}

async function sessionOf(
  { db, config }: Pick<WebDeps, 'db' | 'config'>,
  ctx: ParameterizedContext<RequestState>,
): Promise<LiveSession> {
  const found = await findSession(db, bearerToken(ctx.get('authorization')), config.SECOND_FACTOR)
  if (!found) {
    throw new ApiError('unauthorized', { message: 'The session token is unknown, expired or revoked. Log in again.' })
  }
  ctx.state.session = found
  return found
}

/** The holder of an API key who may use it from where they are, and whose account is not suspended. */
export const apiKey: Auth<Principal> = {
  scheme: 'apiKey',
  errors: ['unauthorized', 'ip_not_allowed', 'account_suspended'],
  find: (deps) => async (ctx) => {
    const found = await authenticateKey(deps, ctx)
    refuseHolder(found)
    return found
  },
}

/** The holder of the key that a request carries, whether they may use it or not. @throws ApiError unauthorized. */
export async function authenticateKey(
  { keys, config }: Pick<WebDeps, 'keys' | 'config'>,
  ctx: ParameterizedContext<RequestState>,
): Promise<Principal> {
  const address = clientAddress(ctx.req, config.TRUST_PROXY)
  const found = await keys.find(apiKeyToken(ctx), address)
  if (!found) throw new ApiError('unauthorized', { message: 'The API key is unknown, has expired or was revoked.' })
  return identify(ctx, found)
}

/** Records whose key a request carries, and shows in its answer what is left of their tokens. @returns the holder */
export function identify(ctx: ParameterizedContext<RequestState>, holder: Principal): Principal {
  ctx.state.principal = holder
  ctx.set(tokenHeaders(holder.tokens))
  return holder
}

/** Sets the headers with the remaining tokens of a request's key, if it has one, where no endpoint does. */
export async function showTokens(
  deps: Pick<WebDeps, 'keys' | 'config'>,
  ctx: ParameterizedContext<RequestState>,
): Promise<void> {
  // Requests without a key are answered without, and all are while Postgres is unreachable.
  await authenticateKey(deps, ctx).catch(() => null)
}

/** @throws ApiError ip_not_allowed, account_suspended. */
export function refuseHolder({ addressAllowed, status }: Pick<Principal, 'addressAllowed' | 'status'>): void {
  if (!addressAllowed) throw new ApiError('ip_not_allowed')
  if (status === 'suspended') throw new ApiError('account_suspended')
}

/** Whether the limits of a key let it call a model. The charge checks it again. */
export const mayCall = ({ models, modalities }: Pick<Principal, 'models' | 'modalities'>, model: Model): boolean =>
  (models?.includes(model.id) ?? true) && (modalities?.includes(model.modality) ?? true)

/** RFC 6750: one token of b68 characters. */
const TOKEN = /^[\w.~+/=-]{1,512}$/

/** The scheme in any case. */
const SCHEME = /^bearer(?: +|$)/i

/** The text after `Bearer` in an Authorization header; nothing under another scheme. */
export const behindBearer = (header: string): string =>
  SCHEME.test(header) ? header.replace(SCHEME, '').trimEnd() : ''

/** The token in an Authorization header. @throws ApiError unauthorized if it has no token. */
export function bearerToken(header: string): string {
  const token = behindBearer(header)
  if (TOKEN.test(token)) return token
  throw new ApiError('unauthorized', { message: 'Send the key or session token as "Authorization: Bearer <token>".' })
}

/** Where a request may have its key, in the words of an error. */
const PLACES = {
  usual: 'as "Authorization: Bearer <key>" or as "x-api-key"',
  gemini: 'as "x-goog-api-key" or as "?key="',
} as const

/** Paths of Gemini's API that other APIs have, too: there a key in another place is meant for those. */
const SHARED_PATHS = /^\/v1\//

/**
 * The API key of a request, from `Authorization: Bearer` or from `x-api-key`; one to Gemini's API from `x-goog-api-key`
 * or `?key=`, below `/v1beta` also from the usual places. An Authorization of another scheme is for somebody else, such
 * as a proxy on the way, and one with nothing after `Bearer` is no key: neither counts.
 * @throws ApiError unauthorized if there is no key, or two that differ
 */
export function apiKeyToken(ctx: ParameterizedContext<RequestState>): string {
  const { authorization = '', 'x-api-key': given = '' } = ctx.req.headers
  const isOfGemini = envelopeFor(ctx) === 'gemini'
  const ofGoogle = isOfGemini ? googleKeysIn(ctx) : []
  const usual = [String(given), behindBearer(authorization)].filter((key) => key !== '')
  const isShared = isOfGemini && SHARED_PATHS.test(ctx.path)
  const [token = ''] = isShared ? ofGoogle : [...ofGoogle, ...usual]
  const where = PLACES[isOfGemini ? 'gemini' : 'usual']
  if (token !== '' && [...ofGoogle, ...usual].some((key) => key !== token)) {
    throw new ApiError('unauthorized', { message: 'The request has different keys. Send one of them.' })
  }
  if (TOKEN.test(token)) return token
  throw new ApiError('unauthorized', { message: `Send the key ${where}.` })
}
