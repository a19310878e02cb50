/**
 * /api/auth/passkeys: the passkeys of a user; /api/auth/passkey: signing in with one (docs/sign-in.md#passkeys).
 */
import { z } from 'zod'
import { findTicket } from '../../shared/identity/tickets.ts'
import { presentUser, requireMember } from '../../shared/identity/users.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { label } from '../../shared/platform/text-fields.ts'
import { addPasskey, removePasskey } from '../../shared/sign-in/passkey-changes.ts'
import { waysOf } from '../../shared/sign-in/identities.ts'
import { requireWaiting } from '../../shared/sign-in/provider-sign-in.ts'
import { listPasskeys, optionsToAdd, optionsToUse, renamePasskey, siteOf } from '../../shared/sign-in/passkeys.ts'
import { signInByPasskey } from '../../shared/sign-in/second-factor.ts'
import { done, id, listOf, ok, signedIn, time } from '../endpoint/answer-schemas.ts'
import { anySession, freshSession, provenSession } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import type { WebDeps } from '../deps.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { LINK_ERRORS, fromOf, pendingFlag, providerTerms } from './entering.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

const base64url = z
  .string({ error: 'must be a text' })
  .max(20_000, 'must have at most 20000 characters')
  .regex(/^[\w-]+$/, 'must be base64url')

const credential = { id: base64url, rawId: base64url }

/** What a browser answers when it has used a passkey: `toJSON()` of its credential. */
export const usedPasskey = z
  .object({
    ...credential,
    response: z.object({ clientDataJSON: base64url, authenticatorData: base64url, signature: base64url }),
  })
  .meta({ id: 'UsedPasskey' })

const transports = z
  .array(z.string().regex(/^[a-z-]{1,40}$/, 'is not known'))
  .max(10)
  .optional()

const madePasskey = z
  .object({
    ...credential,
    response: z.object({ clientDataJSON: base64url, attestationObject: base64url, transports }),
  })
  .meta({ id: 'MadePasskey' })

const name = label(60)

const shownPasskey = z
  .strictObject({ id: id('pk'), name: z.string(), createdAt: time, lastUsedAt: time.nullable() })
  .meta({ id: 'Passkey' })

const options = z.looseObject({ challenge: z.string() }).meta({
  description:
    'For `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON` of the browser.',
})

const optionsAnswer = { 200: { description: 'What the browser needs.', schema: z.strictObject({ ok, options }) } }

/** Lists the passkeys, newest first. */
export const showPasskeys = endpoint({
  tag,
  auth: anySession,
  method: 'get',
  path: '/api/auth/passkeys',
  summary: 'List the passkeys',
  answers: { 200: { description: 'The passkeys, newest first.', schema: listOf(shownPasskey) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listPasskeys(db, auth.userId),
}))

/** Begins to add a passkey. */
export const beginPasskey = endpoint({
  tag,
  auth: freshSession,
  method: 'post',
  path: '/api/auth/passkeys/options',
  summary: 'Begin to add a passkey',
  description: 'Needs a login, password or passkey of the last 5 minutes. The challenge works once, for 5 minutes.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  body: 'ignored',
  answers: optionsAnswer,
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => async ({ auth }) => {
  const { email } = await requireMember(db, auth)
  return { ok: true, options: { ...(await optionsToAdd(db, siteOf(config), auth.userId, email)) } }
})

/** Adds a passkey. */
export const makePasskey = endpoint({
  tag,
  auth: anySession,
  method: 'post',
  path: '/api/auth/passkeys',
  summary: 'Add a passkey',
  description: 'If it is the first second factor, logins need one from now on, and all other sessions end.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  body: z.object({ name, response: madePasskey }).meta({ id: 'PasskeyRequest' }),
  answers: {
    200: {
      description: 'The passkey. `recoveryCodes`: ten, if it is the first second factor; not shown again.',
      schema: z.strictObject({ ok, passkey: shownPasskey, recoveryCodes: z.array(z.string()).nullable() }),
    },
  },
  errors: ['invalid_request', 'too_many_passkeys', 'conflict'],
}).handle((deps: Pick<WebDeps, 'db' | 'config' | 'log' | 'queues'>) => async ({ auth, body, request }) => {
  const { passkey, recoveryCodes, mailId } = await addPasskey(deps.db, siteOf(deps.config), auth, body)
  enqueueMail(deps, mailId)
  logSecurity(deps.log, request, 'passkey_added', auth.accountId)
  return { ok: true, passkey, recoveryCodes }
})

const ofPasskey = { tag, path: '/api/auth/passkeys/:id', params: pathId('passkey', 'The `id` of a passkey.') } as const

/** Renames a passkey. */
export const editPasskey = endpoint({
  ...ofPasskey,
  auth: anySession,
  method: 'patch',
  summary: 'Rename a passkey',
  body: z.object({ name }).meta({ id: 'PasskeyNameRequest' }),
  answers: { 200: { description: 'The passkey.', schema: z.strictObject({ ok, passkey: shownPasskey }) } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params, body }) => {
  const passkey = await renamePasskey(db, auth.userId, params.id, body.name)
  if (!passkey) throw new ApiError('not_found')
  return { ok: true, passkey }
})

/** Removes a passkey. */
export const endPasskey = endpoint({
  ...ofPasskey,
  auth: provenSession,
  method: 'delete',
  summary: 'Remove a passkey',
  description:
    'With the last second factor the recovery codes end. Needs a login, or `POST /api/auth/proof`, of the last 15 ' +
    'minutes.',
  answers: { 200: { description: 'The passkey has been removed.', schema: done } },
  errors: ['last_sign_in'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues' | 'providers'>) => {
  const ways = waysOf(deps.config, deps.providers.values())
  return async ({ auth, params, request }) => {
    enqueueMail(deps, await removePasskey(deps.db, auth, params.id, ways))
    logSecurity(deps.log, request, 'passkey_removed', auth.accountId)
    return { ok: true }
  }
})

/** Begins to sign in with a passkey. */
export const beginSignIn = endpoint({
  tag,
  auth: null,
  method: 'post',
  path: '/api/auth/passkey/options',
  summary: 'Begin to use a passkey',
  description:
    'To sign in, or to prove yourself; with the `ticket` of a login, as its second step. The challenge works once, ' +
    'for 5 minutes.',
  limits: [{ limit: 'logins', per: 'client' }],
  body: z
    .object({ ticket: z.string().optional().meta({ description: 'Of a login that waits for its second step.' }) })
    .meta({ id: 'PasskeyOptionsRequest' }),
  answers: optionsAnswer,
  errors: ['invalid_request', 'invalid_ticket'],
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => async ({ body: { ticket }, request }) => {
  const userId = ticket === undefined ? null : await findTicket(db, { ticket, browser: request.browser() })
  if (ticket !== undefined && !userId) throw new ApiError('invalid_ticket')
  return { ok: true, options: { ...(await optionsToUse(db, siteOf(config), userId)) } }
})

/** Signs in with a passkey alone. */
export const passkeySignIn = endpoint({
  tag,
  auth: null,
  method: 'post',
  path: '/api/auth/passkey',
  summary: 'Log in with a passkey',
  description: 'Without an address or a password: a passkey that has verified its user is both factors.',
  limits: [{ limit: 'logins', per: 'client' }],
  body: z.object({ response: usedPasskey, pending: pendingFlag }).meta({ id: 'PasskeyLoginRequest' }),
  answers: { 200: { description: 'The account and a new session.', schema: signedIn } },
  errors: ['invalid_request', 'invalid_credentials', 'account_suspended', ...LINK_ERRORS],
}).handle((deps: Pick<WebDeps, 'db' | 'config' | 'log' | 'providers' | 'queues'>) => async ({ body, request }) => {
  const { db, config, log } = deps
  const pendingId = body.pending ? await requireWaiting(deps, request.browser()) : null
  const known = { db, site: siteOf(config), terms: providerTerms(config) }
  const { token, user, mailIds } = await signInByPasskey(known, body.response, fromOf(config, request), pendingId)
  for (const mailId of mailIds) enqueueMail(deps, mailId)
  logSecurity(log, request, 'logged_in', user.account_id)
  return { ok: true, token, user: presentUser(user) }
})
