/**
 * /api/auth: registration, login, logout, and the account itself.
 */
import { z } from 'zod'
import type { AccountId } from '../../shared/platform/ids.ts'
import { cancelUnpaid } from '../../shared/payments/cancel.ts'
import { parseEmail } from '../../shared/terms/emails.ts'
import { LANGUAGE_TAGS } from '../../shared/terms/languages.ts'
import { leave } from '../../shared/operators/account-deletion.ts'
import { logIn, networkHash } from '../../shared/identity/login.ts'
import { changePassword } from '../../shared/identity/password-changes.ts'
import { register } from '../../shared/identity/registration.ts'
import { endSession } from '../../shared/identity/sessions.ts'
import { factorNames, factorsOf } from '../../shared/sign-in/factors.ts'
import { signupTerms } from '../../shared/identity/signup-credits.ts'
import { presentActingUser, presentUser, requireMember, updateProfile } from '../../shared/identity/users.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { done, signedIn, userAnswer } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { anySession, session } from '../endpoint/auth.ts'
import {
  PASSWORD_ERRORS,
  avatarUrl,
  byPasswords,
  displayName,
  emailAddress,
  newPassword,
  ownPassword,
  ownProof,
} from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { LINK_ERRORS, fromOf, pendingFlag, pendingOf, secondStep } from './entering.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

/** Of the endpoints of a user who is logged in. */
const own = { tag, auth: session } as const

/** Creates an account and logs in. A verification mail is sent automatically. */
export const createAccount = endpoint({
  method: 'post',
  path: '/api/auth/register',
  offered: byPasswords,
  tag,
  summary: 'Register',
  description:
    'Creates an account and logs in. A verification mail is sent automatically, in the language that ' +
    '`Accept-Language` asks for, as all mails are then.',
  auth: null,
  limits: [{ limit: 'registrations', per: 'client' }],
  body: z.object({ email: emailAddress, password: newPassword, displayName }).meta({ id: 'RegisterRequest' }),
  answers: { 200: { description: 'The account and its first session.', schema: signedIn } },
  errors: ['invalid_email', ...PASSWORD_ERRORS, 'email_taken', 'overloaded'],
}).handle(({ config, db, log, queues }: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>) => {
  const terms = signupTerms(config, 'registration')
  return async ({ body, request }) => {
    const device = request.device()
    const network = networkHash(config.APP_SECRET, device.ip)
    const {
      user: made,
      token,
      mailId,
    } = await register(db, {
      ...body,
      ...terms,
      language: request.language(),
      device,
      network,
    })
    enqueueMail({ queues, log }, mailId)
    logSecurity(log, request, 'registered', made.account_id)
    return { ok: true, token, user: presentUser(made) }
  }
})

type LoginDeps = Pick<WebDeps, 'config' | 'db' | 'guesses' | 'log' | 'providers' | 'queues'>

/** Opens a session. */
export const login = endpoint({
  method: 'post',
  path: '/api/auth/login',
  offered: byPasswords,
  tag,
  summary: 'Log in',
  description:
    'After some wrong passwords for an address from several networks there is a pause with 429 `rate_limited`, which ' +
    'grows to 15 minutes; never from a network that has logged in to the account before. If the account has a second ' +
    'factor, the answer has a ticket in place of a session, for the browser that gets its cookie.',
  auth: null,
  limits: [{ limit: 'logins', per: 'client' }],
  body: z
    .object({
      email: z
        .string({ error: 'is required' })
        .meta({ description: 'Any text. An unknown address is refused in the same way as a wrong password.' }),
      password: z.string({ error: 'is required' }),
      pending: pendingFlag,
    })
    .meta({ id: 'LoginRequest' }),
  answers: {
    200: { description: 'The account and a new session, or a ticket.', schema: z.union([signedIn, secondStep]) },
  },
  errors: ['invalid_request', 'invalid_credentials', 'account_suspended', 'overloaded', ...LINK_ERRORS],
}).handle((deps: LoginDeps) => async ({ body: { pending: links = false, ...body }, request }) => {
  const { config, db, guesses, log } = deps
  const pending = links ? await pendingOf(deps, request) : null
  const outcome = await logIn(db, guesses, { ...body, ...fromOf(config, request), bind: request.bindBrowser, pending })
  for (const mailId of pending?.mailIds ?? []) enqueueMail(deps, mailId)
  if ('refusal' in outcome) {
    logSecurity(log, request, 'login_refused', outcome.accountId, outcome.refusal)
    throw new ApiError(outcome.refusal)
  }
  if ('ticket' in outcome) {
    const { ticket, user } = outcome
    logSecurity(log, request, 'second_factor_asked', user.account_id)
    return { ok: true, ticket, secondFactor: factorNames(await factorsOf(db, user.id)) }
  }
  logSecurity(log, request, 'logged_in', outcome.user.account_id)
  return { ok: true, token: outcome.token, user: presentUser(outcome.user) }
})

/** Shows who is logged in. */
export const showAccount = endpoint({
  ...own,
  auth: anySession,
  method: 'get',
  path: '/api/auth/me',
  summary: 'Show the account',
  description:
    'The credits are those of the account that the session acts for, which `GET /api/account` names; all else is ' +
    'the same for every account.',
  answers: { 200: { description: 'Who is logged in.', schema: userAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => ({
  ok: true,
  user: presentActingUser(await requireMember(db, auth)),
}))

/** Changes what is sent of the profile. */
export const changeAccount = endpoint({
  ...own,
  method: 'patch',
  path: '/api/auth/me',
  summary: 'Change the profile',
  body: z
    .object({
      displayName: displayName.meta({ description: 'At most 60 characters.' }),
      avatarUrl: avatarUrl.meta({ description: 'An https URL; empty for none.' }),
      language: z.enum(LANGUAGE_TAGS).optional().meta({ description: 'Of mails to you.' }),
    })
    .meta({ id: 'ProfileRequest' }),
  answers: { 200: { description: 'The updated account.', schema: userAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, body }) => ({
  ok: true,
  user: presentActingUser(await updateProfile(db, auth, body)),
}))

/** Ends the session that asks for it, and no other. */
export const logout = endpoint({
  ...own,
  auth: anySession,
  method: 'post',
  path: '/api/auth/logout',
  summary: 'Log out',
  description: 'Ends this session only.',
  body: 'ignored',
  answers: { 200: { description: 'The session has ended.', schema: done } },
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth: { userId, accountId, sessionId }, request }) => {
  await endSession(db, userId, sessionId)
  logSecurity(log, request, 'logged_out', accountId)
  return { ok: true }
})

/** Deletes the account of the user who is logged in, for good. */
export const deleteOwnAccount = endpoint({
  ...own,
  method: 'post',
  path: '/api/auth/delete',
  summary: 'Delete the account',
  description:
    'Address, name, sessions, keys, mails and results go; ledger and call records stay without a name. It cannot be ' +
    'undone. 409 `conflict` while calls are open or payments undecided, while the account has a debt, while there ' +
    'are credits, unless they are given up, and while you own an organisation, which it names: delete it or hand it ' +
    'over first. Your memberships of other organisations end.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  body: z
    .object({
      password: ownPassword,
      email: z.string({ error: 'is required' }).meta({ description: 'The address of the account, as a confirmation.' }),
      giveUpCredits: z.boolean({ error: 'must be true or false' }).default(false),
    })
    .meta({ id: 'DeleteAccountRequest' }),
  answers: { 200: { description: 'The account is deleted, and its sessions have ended.', schema: done } },
  errors: ['invalid_request', 'wrong_password', 'proof_required', 'conflict', 'overloaded'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'payments'>) => async ({ auth, body, request }) => {
  const { config, db, log, payments } = deps
  const { email, giveUpCredits } = body
  if (parseEmail(email) !== (await requireMember(db, auth)).email)
    throw new ApiError('invalid_request', { message: 'email must be the address of your account.', param: 'email' })
  const sender = { address: request.device().ip, known: true }
  const cancel = async (id: AccountId): Promise<void> => (payments ? cancelUnpaid(payments, id) : undefined)
  const proof = ownProof(config, auth, body)
  await leave(db, { userId: auth.userId, ...proof, giveUpCredits, sender, cancelUnpaid: cancel })
  logSecurity(log, request, 'account_deleted', auth.accountId)
  return { ok: true }
})

/** Changes the password; all other sessions end. */
export const replacePassword = endpoint({
  ...own,
  method: 'post',
  path: '/api/auth/password',
  offered: byPasswords,
  summary: 'Change password',
  description: 'All other sessions end.',
  limits: [{ limit: 'passwordChanges', per: 'user' }],
  body: z
    .object({ currentPassword: z.string({ error: 'is required' }), password: newPassword })
    .meta({ id: 'PasswordRequest' }),
  answers: { 200: { description: 'The password has been changed.', schema: done } },
  errors: [...PASSWORD_ERRORS, 'wrong_password', 'overloaded'],
}).handle(({ db, log }: Pick<WebDeps, 'db' | 'log'>) => async ({ auth, body, request }) => {
  await changePassword(db, { ...auth, ...body, sender: { address: request.device().ip, known: true } })
  logSecurity(log, request, 'password_changed', auth.accountId)
  return { ok: true }
})
