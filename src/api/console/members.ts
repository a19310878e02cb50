/**
 * /api/members: who may act for the account, what they may do, and what they may spend.
 */
import { z } from 'zod'
import { changeMember, makeOwner, removeMember } from '../../shared/identity/member-changes.ts'
import { seenBy } from '../../shared/identity/members.ts'
import { listMembers } from '../../shared/identity/shown-member.ts'
import { confirmOwner } from '../../shared/identity/password-changes.ts'
import { done, listOf } from '../endpoint/answer-schemas.ts'
import { manager, owner, session } from '../endpoint/auth.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { ownPassword, ownProof } from './account-fields.ts'
import { givenRole, member, memberAnswer, memberBudget } from '../endpoint/member-schemas.ts'
import { pathId } from '../endpoint/fields.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Organisations'

const params = pathId('user', 'The `id` of a member.')

/** Lists the members. */
export const showMembers = endpoint({
  tag,
  auth: session,
  method: 'get',
  path: '/api/members',
  summary: 'List the members',
  description: 'A member sees only themselves.',
  answers: { 200: { description: 'The owner, then the others in the order of joining.', schema: listOf(member) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listMembers(db, seenBy(auth)),
}))

/** Changes the role or the budget of a member. */
export const editMember = endpoint({
  tag,
  auth: manager,
  params,
  method: 'patch',
  path: '/api/members/:id',
  summary: 'Change a member',
  description:
    'Every call from now on is checked against the new budget, which counts from when it is set. The owner has ' +
    'neither another role (409 `last_owner`) nor a budget. Nobody changes their own budget (403 `forbidden`).',
  body: z
    .object({ role: givenRole.optional(), budget: memberBudget })
    .meta({ id: 'MemberChanges', description: 'Absent fields stay as they are; null lifts the budget.' }),
  answers: { 200: { description: 'The member as they are now.', schema: memberAnswer } },
  errors: ['invalid_request', 'last_owner'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, params, body, request }) => {
  const { userId, accountId } = auth
  const changed = await changeMember(db, { userId: params.id, accountId }, body, userId)
  logSecurity(log, request, 'member_changed', accountId)
  return { ok: true, member: changed }
})

/** Ends one's own membership. */
export const leaveOrganisation = endpoint({
  tag,
  auth: session,
  method: 'delete',
  path: '/api/members/me',
  summary: 'Leave an organisation',
  description: 'Your keys of it are revoked, and your sessions that act for it end, this one too.',
  answers: { 200: { description: 'You are not a member any more.', schema: done } },
  errors: ['last_owner'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, request }) => {
  await removeMember(db, auth, auth.userId)
  logSecurity(log, request, 'member_removed', auth.accountId)
  return { ok: true }
})

/** Removes a member. */
export const endMember = endpoint({
  tag,
  auth: manager,
  params,
  method: 'delete',
  path: '/api/members/:id',
  summary: 'Remove a member',
  description:
    'Their keys of this account are revoked and their sessions for it end, at once. Calls that run end as they would.',
  answers: { 200: { description: 'They are not a member any more.', schema: done } },
  errors: ['last_owner'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { userId, accountId }, params, request }) => {
  await removeMember(db, { userId: params.id, accountId }, userId)
  logSecurity(log, request, 'member_removed', accountId)
  return { ok: true }
})

/** Hands the account over. */
export const handOver = endpoint({
  tag,
  auth: owner,
  params,
  method: 'post',
  path: '/api/members/:id/make-owner',
  summary: 'Hand the account over',
  description: 'The member becomes its owner, and you an admin.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  body: z.object({ password: ownPassword }).meta({ id: 'HandOverRequest' }),
  answers: { 200: { description: 'The new owner.', schema: memberAnswer } },
  errors: ['invalid_request', 'wrong_password', 'proof_required', 'overloaded'],
}).handle(({ config, db, log }: Pick<WebDeps, 'config' | 'db' | 'log'>) => async ({ auth, params, body, request }) => {
  const { userId, accountId } = auth
  await confirmOwner(db, userId, ownProof(config, auth, body), { address: request.device().ip, known: true })
  const changed = await makeOwner(db, { userId: params.id, accountId }, userId)
  logSecurity(log, request, 'owner_changed', accountId)
  return { ok: true, member: changed }
})
