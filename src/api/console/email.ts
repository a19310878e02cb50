/**
 * /api/email: the mailed links, for the proof of an address, for another address and for a forgotten password.
 */
import { z } from 'zod'
import { networkHash } from '../../shared/identity/login.ts'
import { readToken } from '../../shared/identity/one-time-tokens.ts'
import { requestReset, resetPassword } from '../../shared/identity/password-changes.ts'
import { endOtherWays } from '../../shared/sign-in/identities.ts'
import { signupTerms } from '../../shared/identity/signup-credits.ts'
import { presentUser } from '../../shared/identity/users.ts'
import { requestVerification, verifyEmail, confirmAddress, requestAddress } from '../../shared/identity/verification.ts'
import { ok, messageAnswer, userAnswer } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { behindBearer, session } from '../endpoint/auth.ts'
import {
  PASSWORD_ERRORS,
  byPasswords,
  emailAddress,
  mailedToken,
  ofLink,
  ownPassword,
  ownProof,
  passwordOfReset,
} from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import type { RequestFacts } from '../endpoint/declaration.ts'
import type { Proven } from '../../shared/identity/verification.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

/** What the proof of an address needs. */
export type ProofDeps = Pick<WebDeps, 'config' | 'db' | 'log' | 'queues' | 'replies'>

/** What follows the proof of an address by a link. */
export function afterProof(
  { log, queues, replies }: ProofDeps,
  request: RequestFacts,
  event: 'email_verified' | 'address_changed',
  { user, mailId }: Proven,
) {
  if (mailId) enqueueMail({ queues, log }, mailId)
  logSecurity(log, request, event, user.account_id)
  replies.publishEvent(user.account_id, { callId: null, balance: user.credits })
  return { ok: true as const, user: presentUser(user) }
}

/** Proves an address by its link, once, and gives the sign-up credits that wait for it. */
export const verify = endpoint({
  ...ofLink,
  path: '/api/email/verify',
  summary: 'Verify an e-mail address',
  description:
    'It ends no session and no key. A mail with a link that does is sent with the first proof, if a key or a session ' +
    'other than that of this request can use the account.',
  body: z.object({ token: mailedToken }).meta({ id: 'VerifyRequest' }),
  answers: { 200: { description: 'The account, verified.', schema: userAnswer } },
  errors: ['invalid_token'],
}).write((deps: ProofDeps) => {
  const terms = signupTerms(deps.config, 'verification')
  return async ({ body, request }, ctx) => {
    const opener = behindBearer(ctx.get('authorization'))
    ctx.body = afterProof(deps, request, 'email_verified', await verifyEmail(deps.db, body.token, terms, opener))
  }
})

/** Mails another verification link. */
export const resend = endpoint({
  method: 'post',
  path: '/api/email/resend',
  tag,
  summary: 'Send another verification link',
  auth: session,
  body: 'ignored',
  answers: { 200: { description: 'The mail has been queued.', schema: messageAnswer } },
  errors: ['already_verified', 'rate_limited'],
}).handle(({ config, db, log, queues }: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>) => async ({ auth }) => {
  enqueueMail({ queues, log }, await requestVerification(db, auth.userId, config.MAIL_RATE_LIMIT))
  return { ok: true, message: 'A new verification link has been sent.' }
})

/** Asks for another address. The answer does not reveal whether the address has an account. */
export const changeAddress = endpoint({
  method: 'post',
  path: '/api/email/change',
  tag,
  summary: 'Request a change of the e-mail address',
  description:
    'The address changes when the link that is mailed to the new one is used. The current one gets a notice.',
  auth: session,
  // A network has as many addresses mailed by changes and registrations, of however many accounts.
  limits: [
    { limit: 'addressChanges', per: 'user' },
    { limit: 'registrations', per: 'client' },
  ],
  body: z.object({ email: emailAddress, password: ownPassword }).meta({ id: 'AddressRequest' }),
  answers: { 200: { description: 'A link was sent if nobody has the address.', schema: messageAnswer } },
  errors: ['invalid_email', 'invalid_request', 'wrong_password', 'proof_required', 'overloaded'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>) => async ({ auth, body, request }) => {
  const { config, db, log, queues } = deps
  const sender = { address: request.device().ip, known: true }
  const proof = ownProof(config, auth, body)
  const mails = await requestAddress(db, { userId: auth.userId, email: body.email, ...proof, sender })
  for (const mailId of mails) enqueueMail({ queues, log }, mailId)
  logSecurity(log, request, 'address_change_requested', auth.accountId)
  return { ok: true, message: `If this address is free, a link has been sent to ${body.email}.` }
})

/** Changes the address of an account by the link that was mailed to the new one, once. */
export const confirmNewAddress = endpoint({
  ...ofLink,
  path: '/api/email/confirm',
  summary: 'Confirm a new e-mail address',
  description: 'This also verifies the new address. Links to the previous one stop working.',
  body: z.object({ token: mailedToken }).meta({ id: 'ConfirmRequest' }),
  answers: { 200: { description: 'The account with its new address.', schema: userAnswer } },
  errors: ['invalid_token'],
}).handle((deps: ProofDeps) => {
  const terms = signupTerms(deps.config, 'verification')
  return async ({ body, request }) => {
    const { user, mailIds } = await confirmAddress(deps.db, body.token, terms)
    const [mailId = null, ...others] = mailIds
    for (const other of others) enqueueMail(deps, other)
    return afterProof(deps, request, 'address_changed', { user, mailId })
  }
})

/** What the endpoints declare that show the address of a link. */
const showsAddress = {
  ...ofLink,
  description: 'The link can still be used. The answer is no error where it no longer works.',
  errors: ['invalid_token'],
} as const

const addressOfLink = z.strictObject({
  ok,
  email: z.string().nullable().meta({ description: 'Null where the link does not work, or no longer.' }),
})

/** Shows which address a link is for, before it is used. */
export const showNewAddress = endpoint({
  ...showsAddress,
  path: '/api/email/confirm/address',
  summary: 'Show the address that a link confirms',
  body: z.object({ token: mailedToken }).meta({ id: 'NewAddressRequest' }),
  answers: { 200: { description: 'The new address.', schema: addressOfLink } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ body }) => ({
  ok: true,
  email: (await readToken(db, 'address', body.token))?.email ?? null,
}))

/** Shows whose password a link resets, before it is used. */
export const showResetAddress = endpoint({
  ...showsAddress,
  path: '/api/email/reset/address',
  offered: byPasswords,
  summary: 'Show whose password a link resets',
  body: z.object({ token: mailedToken }).meta({ id: 'ResetAddressRequest' }),
  answers: { 200: { description: 'The address of the account.', schema: addressOfLink } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ body }) => ({
  ok: true,
  email: (await readToken(db, 'reset', body.token))?.email ?? null,
}))

/** Asks for a reset link. The answer, and the time it takes, is the same for every address. */
export const forgot = endpoint({
  method: 'post',
  path: '/api/email/forgot',
  offered: byPasswords,
  tag,
  summary: 'Request a password reset link',
  description: 'The answer is the same whether the address is registered or not.',
  auth: null,
  limits: [{ limit: 'forgots', per: 'client' }],
  body: z.object({ email: emailAddress }).meta({ id: 'ForgotRequest' }),
  answers: { 200: { description: 'A link was sent if the address is registered.', schema: messageAnswer } },
  errors: ['invalid_email'],
}).handle(({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>) => async ({ body }) => {
  enqueueMail({ queues, log }, await requestReset(db, body.email))
  return { ok: true, message: 'If this address is registered, a reset link has been sent to it.' }
})

/** Part of the message of a reset that proved the address. */
const KEYS_ENDED = 'The API keys of the account have ended, because its address had not been verified: make new ones.'

/** Sets a new password by a reset link; every session ends. */
export const reset = endpoint({
  ...ofLink,
  path: '/api/email/reset',
  offered: byPasswords,
  summary: 'Set a new password with a mailed link',
  description:
    'Ends all sessions, and all API keys and second factors if the address had not been verified. A refused password ' +
    'does not use up the link.',
  body: z.object({ token: mailedToken, password: passwordOfReset }).meta({ id: 'ResetRequest' }),
  answers: { 200: { description: 'The password has been changed.', schema: messageAnswer } },
  errors: ['invalid_token', ...PASSWORD_ERRORS, 'overloaded'],
}).handle(({ config, db, log }: Pick<WebDeps, 'config' | 'db' | 'log'>) => async ({ body, request }) => {
  const address = request.device().ip
  const network = networkHash(config.APP_SECRET, address)
  const { accountId, keys } = await resetPassword(db, {
    token: body.token,
    newPassword: body.password,
    address,
    network,
    endFactors: endOtherWays,
  })
  logSecurity(log, request, 'password_reset', accountId)
  const ended = keys === 0 ? '' : ` ${KEYS_ENDED}`
  return { ok: true, message: `Your password has been changed.${ended} Log in with the new one.` }
})
