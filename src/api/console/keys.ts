/**
 * /api/keys: the API keys of an account.
 */
import { z } from 'zod'
import { createKey, listKeys, revokeKey } from '../../shared/accounts/api-keys.ts'
import { ApiError } from '../../shared/errors.ts'
import { done, id, listOf, ok, time } from '../answers.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { pathId } from '../path-id.ts'
import { session } from '../who.ts'
import { label } from '../fields.ts'
import { logSecurity } from './security-log.ts'

const declared = { tag: 'API keys', who: session } as const

const shownKey = z
  .strictObject({
    id: id('key'),
    name: z.string(),
    hint: z.string().meta({ description: 'Its first 7 and last 4 characters.' }),
    createdAt: time,
    lastUsedAt: time.nullable().meta({ description: 'When a call was last charged to it, to the minute.' }),
    revokedAt: time.nullable(),
  })
  .meta({ id: 'Key' })

const secret = z
  .string()
  .regex(/^tg_[0-9A-Za-z]{40}$/)
  .meta({ description: 'The key itself, shown only this once.' })

/** Makes a key. Its secret is in this answer and nowhere else. */
export const makeKey = endpoint({
  ...declared,
  method: 'post',
  path: '/api/keys',
  summary: 'Create an API key',
  body: z
    .object({
      name: label(60).meta({
        description: 'A name to recognise it by: one line of 1 to 60 characters.',
        examples: ['laptop'],
      }),
    })
    .meta({ id: 'KeyRequest' }),
  answers: {
    200: {
      description: 'The key with its secret, which is shown only this once.',
      schema: z.strictObject({ ok, secret, key: shownKey }),
    },
  },
  errors: ['invalid_request', 'too_many_keys', 'rate_limited'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ who: { accountId }, body, request }) => {
  const made = await createKey(db, accountId, body.name)
  logSecurity(log, request, 'key_made', accountId)
  return { ok: true, secret: made.secret, key: made.key }
})

/** Lists the keys, revoked ones too. */
export const showKeys = endpoint({
  ...declared,
  method: 'get',
  path: '/api/keys',
  summary: 'List the API keys',
  answers: {
    200: { description: 'The valid keys and the newest 1000 revoked ones, newest first.', schema: listOf(shownKey) },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ who }) => ({ ok: true, data: await listKeys(db, who.accountId) }))

/** Revokes a key for good. */
export const endKey = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/keys/:id',
  summary: 'Revoke an API key',
  description: 'The key is refused everywhere from now on. Calls that were already charged go on.',
  params: pathId('key', 'The `id` of a key.'),
  answers: { 200: { description: 'The key has been revoked.', schema: done } },
  errors: [],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ who: { accountId }, params, request }) => {
  if (!(await revokeKey(db, accountId, params.id))) throw new ApiError('not_found')
  logSecurity(log, request, 'key_revoked', accountId)
  return { ok: true }
})
