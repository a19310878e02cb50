/**
 * /api/invitations: inviting people to an organisation, and joining one.
 */
import { z } from 'zod'
import {
  acceptInvitation,
  invitationOfToken,
  invite,
  listInvitations,
  revokeInvitation,
} from '../../shared/identity/invitations.ts'
import { signupTerms } from '../../shared/identity/signup-credits.ts'
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
import { emailAddress, mailedToken, ofLink } from './account-fields.ts'
import type { ProofDeps } from './email.ts'
import { afterProof } from './email.ts'
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
    'For who has the invited mailbox; it verifies the address, too, if it is the invited one. This session goes on ' +
    'acting for the account that it acts for: ' +
    '`POST /api/auth/switch` changes that.',
  body: z.object({ token: mailedToken }).meta({ id: 'AcceptInvitationRequest' }),
  answers: { 200: { description: 'The organisation that you are a member of now.', schema: organisationAnswer } },
  errors: ['invalid_token', 'already_member'],
}).handle((deps: ProofDeps) => {
  const { db, log, config } = deps
  const terms = signupTerms(config, 'verification')
  return async ({ auth, body, request }) => {
    const { organisation, proof } = await acceptInvitation(db, auth, body.token, terms)
    logSecurity(log, request, 'member_joined', parseId('account', organisation.id))
    if (proof) afterProof(deps, request, 'email_verified', proof)
    return { ok: true, organisation }
  }
})

/** Shows what an invitation is to, before anybody signs in. */
export const showInvitation = endpoint({
  ...ofLink,
  tag: 'Organisations',
  path: '/api/invitations/details',
  summary: 'Show what the link of an invitation is to',
  description: 'The answer is no error where the link no longer works.',
  body: z.object({ token: mailedToken }).meta({ id: 'InvitationDetailsRequest' }),
  answers: {
    200: {
      description: 'Who invites whom to what.',
      schema: z.strictObject({
        ok,
        invitation: z
          .strictObject({ organisation: z.string(), invitedBy: z.string(), email: z.string() })
          .nullable()
          .meta({ description: 'Null where the link does not work, or no longer.' }),
      }),
    },
  },
  errors: ['invalid_token'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ body }) => ({
  ok: true,
  invitation: await invitationOfToken(db, body.token),
}))
