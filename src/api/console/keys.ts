/**
 * /api/keys: the API keys of an account.
 */
import { standingOf } from '../../shared/identity/account-limits.ts'
import { createKey, revokeKey, rotateKey } from '../../shared/identity/api-keys.ts'
import { changeKey } from '../../shared/identity/key-limits.ts'
import { seenBy } from '../../shared/identity/members.ts'
import { listKeys } from '../../shared/identity/shown-key.ts'
import { offerTo } from '../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { done } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import {
  checkLimits,
  keyAnswer,
  keyChangesBody,
  listedKeys,
  newKeyAnswer,
  newKeyBody,
  rotation,
  warningsOf,
} from '../endpoint/key-schemas.ts'
import { pathId } from '../endpoint/fields.ts'
import { session } from '../endpoint/auth.ts'
import { logSecurity } from './security-log.ts'

const declared = { tag: 'API keys', auth: session } as const

const onKey = { ...declared, params: pathId('key', 'The `id` of a key.') } as const

type KeyDeps = Pick<WebDeps, 'db' | 'log' | 'config' | 'catalogue'>

/** Makes a key. Its secret is in this answer and nowhere else. */
export const makeKey = endpoint({
  ...declared,
  method: 'post',
  path: '/api/keys',
  summary: 'Create an API key',
  body: newKeyBody,
  answers: {
    200: { description: 'The key with its secret, which is shown only this once.', schema: newKeyAnswer },
  },
  errors: ['invalid_request', 'too_many_keys', 'rate_limited'],
}).handle(({ db, log, config, catalogue }: KeyDeps) => async ({ auth, body: { name, ...limits }, request }) => {
  checkLimits({ config, catalogue }, await standingOf(db, auth.accountId), limits)
  const { secret, key } = await createKey(db, auth.accountId, name, limits, auth)
  logSecurity(log, request, 'key_made', auth.accountId)
  return { ok: true, secret, key, ...warningsOf(limits, request, offerTo(catalogue.current(), auth)) }
})

/** Lists the keys, revoked ones too. */
export const showKeys = endpoint({
  ...declared,
  method: 'get',
  path: '/api/keys',
  summary: 'List the API keys',
  description: 'A member sees their own; owner and admins see those of all members.',
  answers: listedKeys,
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({ ok: true, data: await listKeys(db, seenBy(auth)) }))

const NO_KEY = 'There is no such key, or it was revoked.'

/** Changes the name or the limits of a key. */
export const editKey = endpoint({
  ...onKey,
  method: 'patch',
  path: '/api/keys/:id',
  summary: 'Change an API key',
  description:
    'Every call from now on is checked against the new limits. A new budget counts what the key has already used in ' +
    'its period.',
  body: keyChangesBody,
  answers: { 200: { description: 'The key as it is now.', schema: keyAnswer } },
  errors: ['invalid_request'],
}).handle(({ db, log, config, catalogue }: KeyDeps) => async ({ auth, params, body, request }) => {
  checkLimits({ config, catalogue }, await standingOf(db, auth.accountId), body)
  const key = await changeKey(db, params.id, body, seenBy(auth))
  if (!key) throw new ApiError('not_found', { message: NO_KEY })
  logSecurity(log, request, 'key_changed', auth.accountId)
  return { ok: true, key, ...warningsOf(body, request, offerTo(catalogue.current(), auth)) }
})

/** Gives a key another secret. */
export const renewKey = endpoint({
  ...onKey,
  ...rotation,
  path: '/api/keys/:id/rotate',
  summary: 'Rotate an API key',
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, params, body, request }) => {
  const rotated = await rotateKey(db, params.id, body.graceSeconds, seenBy(auth))
  if (!rotated) throw new ApiError('not_found', { message: NO_KEY })
  logSecurity(log, request, 'key_rotated', auth.accountId)
  return { ok: true, secret: rotated.secret, key: rotated.key }
})

/** Revokes a key for good. */
export const endKey = endpoint({
  ...onKey,
  method: 'delete',
  path: '/api/keys/:id',
  summary: 'Revoke an API key',
  description: 'The key is refused everywhere from now on. Calls that were already charged continue.',
  answers: { 200: { description: 'The key has been revoked.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, params, request }) => {
  if (!(await revokeKey(db, seenBy(auth), params.id))) throw new ApiError('not_found')
  logSecurity(log, request, 'key_revoked', auth.accountId)
  return { ok: true }
})
