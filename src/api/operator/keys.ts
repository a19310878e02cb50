/**
 * /api/operator: the keys of any account.
 */
import { listKeys } from '../../shared/accounts/shown-key.ts'
import { ApiError } from '../../shared/errors.ts'
import { findAccount } from '../../shared/operators/accounts.ts'
import { noteLook } from '../../shared/operators/looks.ts'
import { changeAnyKey, revokeAnyKey, rotateAnyKey } from '../../shared/operators/key-changes.ts'
import { done } from '../answers.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { checkLimits, keyAnswer, keyChangesBody, listedKeys, rotation, warningsOf } from '../key-schemas.ts'
import { pathId } from '../path-id.ts'
import { operator } from '../who.ts'

const declared = { tag: 'Operators', who: operator } as const

const onKey = { ...declared, params: pathId('key', 'The `id` of a key.') } as const

/** Lists the keys of an account, revoked ones too. */
export const showKeysOf = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/accounts/:id/keys',
  summary: 'List the API keys of an account',
  params: pathId('account', 'The `id` of an account.'),
  answers: listedKeys,
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who, params }) => {
  if (!(await findAccount(db, params.id))) throw new ApiError('not_found')
  await noteLook(db, who.userId, params.id)
  return { ok: true, data: await listKeys(db, params.id) }
})

/** Changes the name or the limits of any key. */
export const limitKey = endpoint({
  ...onKey,
  method: 'patch',
  path: '/api/operator/keys/:id',
  summary: 'Change any API key',
  body: keyChangesBody,
  answers: { 200: { description: 'The key as it is now.', schema: keyAnswer } },
  errors: ['invalid_request'],
}).handle(
  ({ db, config, catalogue }: Pick<WebDeps, 'db' | 'config' | 'catalogue'>) =>
    async ({ who, params, body, request }) => {
      checkLimits(body, config)
      const key = await changeAnyKey(db, who.userId, params.id, body)
      if (!key) throw new ApiError('not_found')
      return { ok: true, key, warnings: warningsOf(body, request, catalogue.current()) }
    },
)

/** Gives any key another secret. */
export const renewAnyKey = endpoint({
  ...onKey,
  ...rotation,
  path: '/api/operator/keys/:id/rotate',
  summary: 'Rotate any API key',
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who, params, body }) => {
  const rotated = await rotateAnyKey(db, who.userId, params.id, body.graceSeconds)
  if (!rotated) throw new ApiError('not_found')
  return { ok: true, secret: rotated.secret, key: rotated.key }
})

/** Revokes any key for good. */
export const endAnyKey = endpoint({
  ...onKey,
  method: 'delete',
  path: '/api/operator/keys/:id',
  summary: 'Revoke any API key',
  answers: { 200: { description: 'The key has been revoked.', schema: done } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who, params }) => {
  if (!(await revokeAnyKey(db, who.userId, params.id))) throw new ApiError('not_found')
  return { ok: true }
})
