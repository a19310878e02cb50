/**
 * /api/invitations: inviting people to an organisation, and joining one.
 */
import { z } from 'zod'
import { acceptInvitation, invite, listInvitations, revokeInvitation } from '../../shared/identity/invitations.ts'
import { hasGrantOf } from '../../shared/ledger/ledger.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { createTokenMint } from '../../shared/identity/one-time-tokens.ts'
import { done, listOf, ok } from '../endpoint/answer-schemas.ts'
import { manager, session } from '../endpoint/auth.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { givenRole, invitation, memberBudget, organisationAnswer } from '../endpoint/member-schemas.ts'
import { pathId } from '../endpoint/fields.ts'
import { emailAddress, mailedToken } from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { logSecurity } from './security-log.ts'

const declared = { tag: 'Organisations', auth: manager } as const

/** Invites somebody. */
export const makeInvitation = endpoint({
  ...declared,
  method: 'post',
  path: '/api/invitations',
  summary: 'Invite somebody to the organisation',
  description:
    'They get a link by mail, which works once and for 7 days, for who has that mailbox. A second invitation of an ' +
    'address replaces the first. You need a verified address; an account that never bought credits sends at most ' +
    '10 an hour.',
  limits: [{ limit: 'invitations', per: 'user' }],
  body: z.object({ email: emailAddress, role: givenRole, budget: memberBudget }).meta({ id: 'InvitationRequest' }),
  answers: { 200: { description: 'The invitation.', schema: z.strictObject({ ok, invitation }) } },
  errors: ['invalid_email', 'invalid_request', 'email_unverified', 'already_member', 'conflict'],
}).handle(({ db, log, config, queues, limits }: Pick<WebDeps, 'db' | 'log' | 'config' | 'queues' | 'limits'>) => {
  const mint = createTokenMint(config.APP_SECRET)
  return async ({ auth, body, request }) => {
    if (!(await hasGrantOf(db, auth.accountId, 'purchase'))) {
      // Of the person too: organisations cost nothing.
      for (const subject of [auth.accountId, auth.userId]) await limits.unpaidInvitations.take(subject)
    }
    const made = await invite(db, auth, { ...body, mint: (mailId) => mint('invitation', mailId) })
    enqueueMail({ queues, log }, made.mailId)
    logSecurity(log, request, 'member_invited', auth.accountId)
    return { ok: true, invitation: made.invitation }
  }
})

/** Lists the invitations. */
export const showInvitations = endpoint({
  ...declared,
  method: 'get',
  path: '/api/invitations',
  summary: 'List the invitations',
  answers: { 200: { description: 'Those that can still be accepted, newest first.', schema: listOf(invitation) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  data: await listInvitations(db, auth.accountId),
}))

/** Revokes an invitation. */
export const endInvitation = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/invitations/:id',
  summary: 'Revoke an invitation',
  params: pathId('invitation', 'The `id` of an invitation.'),
  answers: { 200: { description: 'Its link is dead.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { accountId }, params, request }) => {
  if (!(await revokeInvitation(db, accountId, params.id))) throw new ApiError('not_found')
  logSecurity(log, request, 'invitation_revoked', accountId)
  return { ok: true }
})

/** Joins an organisation. */
export const joinOrganisation = endpoint({
  tag: 'Organisations',
  auth: session,
  method: 'post',
  path: '/api/invitations/accept',
  summary: 'Accept an invitation',
  description:
    'For who has the invited mailbox. This session goes on acting for the account that it acts for: ' +
    '`POST /api/auth/switch` changes that.',
  body: z.object({ token: mailedToken }).meta({ id: 'AcceptInvitationRequest' }),
  answers: { 200: { description: 'The organisation that you are a member of now.', schema: organisationAnswer } },
  errors: ['invalid_token', 'already_member'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, body, request }) => {
  const organisation = await acceptInvitation(db, auth, body.token)
  logSecurity(log, request, 'member_joined', parseId('account', organisation.id))
  return { ok: true, organisation }
})
