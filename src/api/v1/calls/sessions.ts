/**
 * The session that a chat belongs to, and the fields that only the gateway reads (docs/upstreams/keys.md#sessions).
 */
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import { longCacheIn } from '../../../shared/chat/messages/cache-marks.ts'
import { allowedBy } from '../../../shared/chat/check-body.ts'
import type { BodyRules } from '../../../shared/chat/check-body.ts'
import type { Membership } from '../../../shared/identity/members.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { asFields, isFields, isText, objectOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { hasAtMost } from '../../../shared/platform/text-fields.ts'
import type { Modality } from '../../../shared/terms/kinds.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { CallSession } from '../../../shared/queues.ts'

/** The longest id of a session, in characters. */
const LONGEST = 256

/** What of a request may name its session. */
type Naming = { headers: IncomingHttpHeaders; body: Fields; dialect: Dialect | undefined }

/** Where the id of a session may be, the first one first. */
const SPELLINGS: readonly ((request: Naming) => unknown)[] = [
  ({ headers }) => headers['x-session-id'],
  ({ body }) => body.session_id,
  ({ headers }) => headers['x-session-affinity'],
  ({ headers }) => headers['session-id'],
  ({ headers }) => headers['x-claude-code-session-id'],
  ({ body, dialect }) => (dialect === 'messages' ? sessionOfUser(asFields(body.metadata).user_id) : undefined),
  ({ body }) => body.prompt_cache_key,
]

/** The session in the name of an end user: agents write JSON there. */
function sessionOfUser(user: unknown): unknown {
  if (!isText(user) || !user.startsWith('{')) return user
  const id = objectOf(user)?.session_id
  return isText(id) && id !== '' ? id : user
}

/** The id of a request's session by the first spelling that it has; null without one, or if that is too long. */
export function sessionIdOf(request: Naming): string | null {
  for (const spelling of SPELLINGS) {
    const id = spelling(request)
    if (isText(id) && id !== '') return hasAtMost(id, LONGEST) ? id : null
  }
  return null
}

/** How long a session is remembered after its last call, in seconds: as long as upstreams keep its cache. */
const SECONDS = { usual: 600, longCache: 3600 }

/** What a session belongs to: others' sessions of the same id, or with another model, are others. */
type Owner = { holder: Membership; model: string; secret: string }

/** The session of a chat as its job has it; undefined if it names none. */
export function sessionOf(
  request: Naming & { modality: Modality },
  { holder, model, secret }: Owner,
): CallSession | undefined {
  const id = request.modality === 'chat' ? sessionIdOf(request) : null
  if (id === null) return undefined
  const named = JSON.stringify([holder.accountId, holder.userId, model, id])
  const digest = createHmac('sha256', secret).update(`tollgate session\n${named}`).digest('base64url')
  const isLong = request.dialect === 'messages' && longCacheIn(request.body) !== null
  return { digest, seconds: isLong ? SECONDS.longCache : SECONDS.usual }
}

/**
 * The body of a chat without the fields that only the gateway reads: they are checked, and no upstream is sent them.
 * @throws ApiError invalid_request for a wrong type, and for what `provider` demands and no gateway can promise
 */
export function withoutGatewayFields({ session_id: session = null, ...body }: Fields, model: BodyRules): Fields {
  if (session !== null && !isText(session)) throw fieldRefusal('session_id', 'must be a string')
  if ((body.provider ?? null) === null || allowedBy(model).has('provider')) return body
  const { provider, ...rest } = body
  if (!isFields(provider)) throw fieldRefusal('provider', 'must be an object')
  for (const [name, isDemand] of Object.entries(DEMANDS))
    if (Object.hasOwn(provider, name) && isDemand(provider[name]))
      throw fieldRefusal(`provider.${name}`, 'cannot be honoured: the operator of this gateway chooses the upstreams')
  return rest
}

/** What `provider` may demand: to ignore it would break a promise. */
const DEMANDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  only: (value) => (value ?? null) !== null,
  zdr: (value) => value === true,
  data_collection: (value) => value === 'deny',
}

/** A request as workers get it: upstreams are sent a key of their own making (`knowsCacheKey`), never the client's. */
export function withoutCacheKey({ prompt_cache_key: _key, ...request }: ChatRequest): ChatRequest {
  return request as ChatRequest
}
