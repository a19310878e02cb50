/**
 * /api/organisations, /api/accounts and /api/auth/switch: making an organisation, and acting for one.
 */
import { z } from 'zod'
import { accountsActedFor, createOrganisation } from '../../shared/identity/organisations.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import { actFor } from '../../shared/identity/sessions.ts'
import { deleteOrganisation } from '../../shared/operators/account-deletion.ts'
import { cancelUnpaid } from '../../shared/payments/cancel.ts'
import { done, listOf, ok } from '../endpoint/answer-schemas.ts'
import { session } from '../endpoint/auth.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { ownPassword, ownProof } from './account-fields.ts'
import { actedFor, organisationAnswer, organisationName } from '../endpoint/member-schemas.ts'
import { pathId } from '../endpoint/fields.ts'
import { logSecurity } from './security-log.ts'

const declared = { tag: 'Organisations', auth: session } as const

/** Makes an organisation. */
export const makeOrganisation = endpoint({
  ...declared,
  method: 'post',
  path: '/api/organisations',
  summary: 'Create an organisation',
  description:
    'An account of its own, without credits, whose owner you are. This session goes on acting for the account that ' +
    'it acts for: `POST /api/auth/switch` changes that.',
  body: z.object({ name: organisationName }).meta({ id: 'OrganisationRequest' }),
  answers: { 200: { description: 'The organisation.', schema: organisationAnswer } },
  errors: ['invalid_request', 'conflict', 'rate_limited'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, body, request }) => {
  const organisation = await createOrganisation(db, auth, body.name)
  logSecurity(log, request, 'organisation_made', parseId('account', organisation.id))
  return { ok: true, organisation }
})

/** Lists the accounts that the user may act for. */
export const showAccounts = endpoint({
  ...declared,
  method: 'get',
  path: '/api/accounts',
  summary: 'List the accounts that you may act for',
  answers: { 200: { description: 'Your own account, then organisations.', schema: listOf(actedFor) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await accountsOf(db, auth.userId, auth.accountId),
}))

/** The accounts of a user, of which one is the current one. */
const accountsOf = async (db: Db, userId: LiveSession['userId'], current: AccountId) =>
  (await accountsActedFor(db, userId)).map(({ accountId, ...shown }) => ({ ...shown, current: accountId === current }))

const NO_ACCOUNT = 'There is no such account that you may act for.'

/** Makes the session act for another account. */
export const switchAccount = endpoint({
  ...declared,
  method: 'post',
  path: '/api/auth/switch',
  summary: 'Act for another account',
  description: 'This session acts for it from now on, with the same token. Other sessions stay as they are.',
  body: z
    .object({ account: z.string({ error: 'is required' }).meta({ description: 'The `id` of an account.' }) })
    .meta({ id: 'SwitchRequest' }),
  answers: {
    200: { description: 'The account that it acts for now.', schema: z.strictObject({ ok, account: actedFor }) },
  },
  errors: ['invalid_request', 'not_found', 'account_suspended'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, body, request }) => {
  const accountId = parseId('account', body.account)
  const status = accountId && (await actFor(db, auth, accountId))
  if (!accountId || !status) throw new ApiError('not_found', { message: NO_ACCOUNT })
  if (status === 'suspended') throw new ApiError('account_suspended')
  logSecurity(log, request, 'account_switched', accountId)
  const account = (await accountsOf(db, auth.userId, accountId)).find(({ current }) => current)
  if (!account) throw new ApiError('not_found', { message: NO_ACCOUNT })
  return { ok: true, account }
})

/** Deletes an organisation, for good. */
export const endOrganisation = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/organisations/:id',
  summary: 'Delete an organisation',
  description:
    'For its owner. Its name, keys, memberships and results go; ledger and call records stay without a name. It is ' +
    'refused as the deletion of an account is: 409 `conflict` while calls are open or payments undecided, while ' +
    'there is a debt, and while there are credits, unless they are given up.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  params: pathId('account', 'The `id` of an organisation.'),
  body: z
    .object({
      name: z.string({ error: 'is required' }).meta({ description: 'Its name, as a confirmation.' }),
      password: ownPassword,
      giveUpCredits: z.boolean({ error: 'must be true or false' }).default(false),
    })
    .meta({ id: 'DeleteOrganisationRequest' }),
  answers: {
    200: { description: 'The organisation is deleted; sessions that acted for it have ended.', schema: done },
  },
  errors: ['invalid_request', 'forbidden', 'wrong_password', 'proof_required', 'conflict', 'overloaded'],
}).handle(
  ({ config, db, log, payments }: Pick<WebDeps, 'config' | 'db' | 'log' | 'payments'>) =>
    async ({ auth, params, body, request }) => {
      const sender = { address: request.device().ip, known: true }
      const cancel = async (id: AccountId): Promise<void> => (payments ? cancelUnpaid(payments, id) : undefined)
      const whose = { userId: auth.userId, accountId: params.id, ...ownProof(config, auth, body) }
      await deleteOrganisation(db, { ...body, ...whose, sender, cancelUnpaid: cancel })
      logSecurity(log, request, 'account_deleted', params.id)
      return { ok: true }
    },
)
