/**
 * /api/keys: the API keys of an account.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { createKey, listKeys, revokeKey } from '../../shared/accounts/api-keys.ts'
import { ApiError } from '../../shared/errors.ts'
import { parseId } from '../../shared/ids.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { label } from './fields.ts'
import { parseFields } from '../parse-fields.ts'
import { logSecurity } from './security-log.ts'

export const keyBody = z.object({
  name: label(60).meta({ description: 'What you know it by: one line of 1 to 60 characters.', examples: ['laptop'] }),
}).meta({ id: 'KeyRequest' })

/** Makes a key. Its secret is in this answer and nowhere else. */
export function makeKey({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const { name } = parseFields(keyBody, bodyOf(ctx))
    const { secret, key } = await createKey(db, accountId, name)
    logSecurity(log, ctx, 'key_made', accountId)
    ctx.body = { ok: true, secret, key }
  }
}

/** Lists the keys, revoked ones too. */
export function showKeys({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    ctx.body = { ok: true, data: await listKeys(db, ctx.state.session!.accountId) }
  }
}

/** Revokes a key for good. @throws ApiError not_found for one that is not of this account. */
export function endKey({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const id = parseId('key', ctx.params.id as string)
    if (!id || !await revokeKey(db, accountId, id)) throw new ApiError('not_found')
    logSecurity(log, ctx, 'key_revoked', accountId)
    ctx.body = { ok: true }
  }
}
