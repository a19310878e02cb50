/**
 * /api/operator/accounts/:id/limits: the limits of an account that replace the usual ones.
 */
import { z } from 'zod'
import { accountLimitFields } from '../../shared/identity/account-limits.ts'
import { findAccount } from '../../shared/operators/accounts.ts'
import { setAccountLimits } from '../../shared/operators/changes.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import { operator } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { pathId } from '../endpoint/fields.ts'
import type { WebDeps } from '../deps.ts'
import { operatedAccount } from './answers.ts'

/** Sets an account's own limits. */
export const limitAccount = endpoint({
  tag: 'Operators',
  auth: operator,
  views: 'recorded',
  method: 'patch',
  path: '/api/operator/accounts/:id/limits',
  summary: 'Limit an account',
  description:
    'Sets limits of its own, which hold from the next request on. Absent fields stay as they are; null lifts one, ' +
    'and the usual one holds again. Keys with a higher limit are held to that of their account.',
  params: pathId('account', 'The `id` of an account.'),
  body: z.object(accountLimitFields).meta({ id: 'AccountLimits' }),
  answers: {
    200: { description: 'The account as it is now.', schema: z.strictObject({ ok, account: operatedAccount }) },
  },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, params, body }) => {
  if (!(await setAccountLimits(db, auth.userId, params.id, body))) throw new ApiError('not_found')
  return { ok: true, account: (await findAccount(db, params.id))! }
})
