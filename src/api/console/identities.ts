/**
 * /api/identities: the accounts at providers that a user has connected (docs/sign-in.md#connecting-an-account).
 */
import { z } from 'zod'
import { listIdentities, removeIdentity, waysOf } from '../../shared/sign-in/identities.ts'
import { beginAttempt } from '../../shared/sign-in/pending.ts'
import { done, id, listOf, ok, time } from '../endpoint/answer-schemas.ts'
import { freshMember, provenMember, session } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import type { WebDeps } from '../deps.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { requireProvider } from './providers.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

const identity = z
  .strictObject({
    id: id('idn'),
    provider: z.string().nullable().meta({ description: 'Null if it is not configured any more, as is `label`.' }),
    label: z.string().nullable(),
    email: z.string().nullable().meta({ description: 'The address there, when it was connected.' }),
    createdAt: time,
    lastUsedAt: time.nullable(),
  })
  .meta({ id: 'Identity' })

/** Lists the identities. */
const showIdentities = endpoint({
  tag,
  auth: session,
  method: 'get',
  path: '/api/identities',
  summary: 'List the connected accounts',
  answers: { 200: { description: 'The accounts at providers, newest first.', schema: listOf(identity) } },
}).handle(({ db, providers }: Pick<WebDeps, 'db' | 'providers'>) => async ({ auth }) => ({
  ok: true,
  data: await listIdentities(db, auth.userId, [...providers.values()]),
}))

/** Where a browser goes next. */
export const address = z.strictObject({ ok, url: z.string().meta({ description: 'Where the browser goes next.' }) })

/** Begins to link an identity. */
const beginLink = endpoint({
  tag,
  auth: freshMember,
  method: 'post',
  path: '/api/identities/:id',
  summary: 'Connect an account at a provider',
  description: 'Needs a login, password, passkey or provider of the last 5 minutes. `finish` completes it.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  params: z.object({ id: z.string().meta({ description: 'The `id` of a provider.' }) }),
  body: 'ignored',
  answers: { 200: { description: 'The address of the provider.', schema: address } },
}).handle((deps: Pick<WebDeps, 'db' | 'providers'>) => async ({ auth, params, request }) => {
  const client = requireProvider(deps, params.id)
  const aim = { purpose: 'link', sessionId: auth.sessionId } as const
  const state = await beginAttempt(deps.db, client.id, request.bindBrowser(), aim)
  return { ok: true, url: (await client.addressFor(state)).href }
})

/** Unlinks an identity. */
const endIdentity = endpoint({
  tag,
  auth: provenMember,
  method: 'delete',
  path: '/api/identities/:id',
  summary: 'Disconnect an account at a provider',
  description: 'Not the last way to sign in. Needs a login, or `POST /api/auth/proof`, of the last 15 minutes.',
  params: pathId('identity', 'The `id` of a connected account.'),
  answers: { 200: { description: 'It no longer signs in.', schema: done } },
  errors: ['last_sign_in'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues' | 'providers'>) => {
  const ways = waysOf(deps.config, deps.providers.values())
  return async ({ auth, params, request }) => {
    enqueueMail(deps, await removeIdentity(deps.db, auth, params.id, ways))
    logSecurity(deps.log, request, 'identity_removed', auth.accountId)
    return { ok: true }
  }
})

/** All of them. */
export const identityEndpoints = [showIdentities, beginLink, endIdentity] as const
