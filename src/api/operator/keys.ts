/**
 * /api/operator: the keys of any account.
 */
import { z } from 'zod'
import { allOf } from '../../shared/identity/members.ts'
import { listKeys } from '../../shared/identity/shown-key.ts'
import { offerTo } from '../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { findAccount } from '../../shared/operators/accounts.ts'
import { changeAnyKey, endSecretOfAnyKey, revokeAnyKey } from '../../shared/operators/key-changes.ts'
import { done, ok } from '../endpoint/answer-schemas.ts'
import { enqueueMail } from '../console/enqueue-mail.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { checkLimits, keyAnswer, keyChangesBody, listedKeys, shownKey, warningsOf } from '../endpoint/key-schemas.ts'
import { pathId } from '../endpoint/fields.ts'
import { operator, provenOperator } from '../endpoint/auth.ts'
import { standingOfKey } from '../../shared/identity/api-keys.ts'

const declared = { tag: 'Operators', auth: operator } as const

const onKey = { ...declared, params: pathId('key', 'The `id` of a key.') } as const

/** Lists the keys of an account, revoked ones too. */
export const showKeysOf = endpoint({
  ...declared,
  views: 'accounts',
  method: 'get',
  path: '/api/operator/accounts/:id/keys',
  summary: 'List the API keys of an account',
  params: pathId('account', 'The `id` of an account.'),
  answers: listedKeys,
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  if (!(await findAccount(db, params.id))) throw new ApiError('not_found')
  return { ok: true, data: await listKeys(db, allOf(params.id)) }
})

/** Changes the name or the limits of any key. */
export const limitKey = endpoint({
  ...onKey,
  auth: provenOperator,
  views: 'recorded',
  method: 'patch',
  path: '/api/operator/keys/:id',
  summary: 'Change any API key',
  body: keyChangesBody,
  answers: { 200: { description: 'The key as it is now.', schema: keyAnswer } },
  errors: ['invalid_request'],
}).handle(
  ({ db, config, catalogue }: Pick<WebDeps, 'db' | 'config' | 'catalogue'>) =>
    async ({ auth, params, body, request }) => {
      const owner = await standingOfKey(db, params.id)
      checkLimits({ config, catalogue }, owner, body)
      const key = await changeAnyKey(db, auth.userId, params.id, body)
      if (!key) throw new ApiError('not_found')
      return {
        ok: true,
        key,
        ...warningsOf(body, request, offerTo(catalogue.current(), owner ?? { group: null })),
      }
    },
)

/** Ends the secret of any key. Its owner makes another one, which no operator sees. */
export const endSecretOf = endpoint({
  ...onKey,
  auth: provenOperator,
  views: 'recorded',
  method: 'post',
  path: '/api/operator/keys/:id/rotate',
  summary: 'Force the rotation of any API key',
  description:
    'Ends its secret at once. The key is refused until its owner rotates it in the console, and gets a new secret ' +
    'that nobody else sees. They are told by mail.',
  body: 'ignored',
  answers: {
    200: { description: 'The key, without a secret.', schema: z.strictObject({ ok, key: shownKey }) },
  },
}).handle(({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>) => async ({ auth, params }) => {
  const ended = await endSecretOfAnyKey(db, auth.userId, params.id)
  if (!ended) throw new ApiError('not_found')
  enqueueMail({ queues, log }, ended.mailId)
  return { ok: true, key: ended.key }
})

/** Revokes any key for good. */
export const endAnyKey = endpoint({
  ...onKey,
  auth: provenOperator,
  views: 'recorded',
  method: 'delete',
  path: '/api/operator/keys/:id',
  summary: 'Revoke any API key',
  answers: { 200: { description: 'The key has been revoked.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params }) => {
  if (!(await revokeAnyKey(db, auth.userId, params.id))) throw new ApiError('not_found')
  return { ok: true }
})
