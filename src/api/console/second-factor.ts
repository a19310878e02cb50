/**
 * /api/auth: second factors, the second step of a login, and proofs in the middle of a session (docs/sign-in.md).
 */
import { z } from 'zod'
import { hasPassword, presentUser } from '../../shared/identity/users.ts'
import { createTotpBox, factorsOf } from '../../shared/sign-in/factors.ts'
import { addTotp, completeLogin, confirmNewTotp, proveAgain, removeTotp } from '../../shared/sign-in/second-factor.ts'
import { siteOf } from '../../shared/sign-in/passkeys.ts'
import { isRequiredOf } from '../../shared/sign-in/policy.ts'
import { done, ok, signedIn } from '../endpoint/answer-schemas.ts'
import { anySession, freshSession, provenSession } from '../endpoint/auth.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import type { WebDeps } from '../deps.ts'
import { byPasswords } from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { LINK_ERRORS, fromOf, providerTerms } from './entering.ts'
import { address } from './identities.ts'
import { usedPasskey } from './passkeys.ts'
import { proveAtProvider } from './providers.ts'
import { logSecurity } from './security-log.ts'

const tag = 'Account'

/** What is guessed at: as many tries as at a password. */
const guessed = { tag, limits: [{ limit: 'passwordChanges', per: 'user' }] } as const

const code = z
  .string({ error: 'is required' })
  .max(20, 'must be the 6 digits of the app')
  .meta({ description: 'The 6 digits that the app shows.', examples: ['123456'] })

/** Shows the second factors of the user who is logged in. */
export const showFactors = endpoint({
  tag,
  auth: anySession,
  method: 'get',
  path: '/api/auth/second-factor',
  summary: 'Show the second factors, and whether you have a password',
  answers: {
    200: {
      description: 'What is asked for after the password.',
      schema: z.strictObject({
        ok,
        totp: z.boolean().meta({ description: 'Whether there is an authenticator app.' }),
        passkeys: z.int().meta({ description: 'How many passkeys there are.' }),
        recoveryCodes: z.int().meta({ description: 'How many recovery codes are left.' }),
        required: z.boolean().meta({ description: 'Whether this service requires a second factor of you.' }),
        password: z.boolean().meta({ description: 'Whether you have a password that signs you in.' }),
      }),
    },
  },
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => async ({ auth }) => ({
  ok: true,
  ...(await factorsOf(db, auth.userId)),
  required: await isRequiredOf(db, auth.userId, config.SECOND_FACTOR),
  password: byPasswords(config) && (await hasPassword(db, auth.userId)),
}))

/** Begins to add an authenticator app. */
export const beginApp = endpoint({
  tag,
  auth: freshSession,
  method: 'post',
  path: '/api/auth/totp',
  summary: 'Begin to add an authenticator app',
  description:
    'Needs a login, or a password by `POST /api/auth/proof`, of the last 5 minutes. The app counts from its first ' +
    'right code on.',
  body: 'ignored',
  answers: {
    200: {
      description: 'The secret, in base32 and as the text of a QR code. It is not shown again.',
      schema: z.strictObject({ ok, secret: z.string(), uri: z.string() }),
    },
  },
  errors: ['conflict'],
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const box = createTotpBox(config)
  const issuer = new URL(config.BASE_URL).host
  return async ({ auth }) => ({ ok: true, ...(await addTotp(db, box, auth, issuer)) })
})

/** Confirms an authenticator app by its first code. */
export const confirmApp = endpoint({
  ...guessed,
  auth: anySession,
  method: 'post',
  path: '/api/auth/totp/confirm',
  summary: 'Confirm an authenticator app',
  description: 'From now on a login needs a code. All other sessions end.',
  body: z.object({ code }).meta({ id: 'ConfirmTotpRequest' }),
  answers: {
    200: {
      description: 'Ten recovery codes, each for one login without the app. They are not shown again.',
      schema: z.strictObject({ ok, recoveryCodes: z.array(z.string()) }),
    },
  },
  errors: ['invalid_request', 'invalid_credentials', 'conflict'],
}).handle(({ db, config, log, queues }: Pick<WebDeps, 'db' | 'config' | 'log' | 'queues'>) => {
  const box = createTotpBox(config)
  return async ({ auth, body, request }) => {
    const { recoveryCodes, mailId } = await confirmNewTotp(db, box, auth, body.code)
    enqueueMail({ queues, log }, mailId)
    logSecurity(log, request, 'totp_added', auth.accountId)
    return { ok: true, recoveryCodes }
  }
})

/** Removes the authenticator app. */
export const removeApp = endpoint({
  tag,
  auth: provenSession,
  method: 'delete',
  path: '/api/auth/totp',
  summary: 'Remove the authenticator app',
  description:
    'With the last second factor the recovery codes end. Needs a login, or `POST /api/auth/proof`, of the last 15 ' +
    'minutes.',
  answers: { 200: { description: 'The app has been removed.', schema: done } },
  errors: ['not_found'],
}).handle(({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>) => async ({ auth, request }) => {
  enqueueMail({ queues, log }, await removeTotp(db, auth))
  logSecurity(log, request, 'totp_removed', auth.accountId)
  return { ok: true }
})

type CompletionDeps = Pick<WebDeps, 'config' | 'db' | 'guesses' | 'log' | 'queues'>

/** Completes a login by its second step. */
export const passSecondFactor = endpoint({
  tag,
  auth: null,
  method: 'post',
  path: '/api/auth/second-factor',
  summary: 'Complete a login with the second factor',
  description:
    'In the browser that has logged in, whose cookie is sent. Five wrong codes end the ticket, and count as wrong ' +
    'passwords.',
  limits: [{ limit: 'logins', per: 'client' }],
  body: z
    .object({
      ticket: z.string({ error: 'invalid_ticket' }).meta({ description: 'The `ticket` of the login.' }),
      code: code.optional(),
      recoveryCode: z.string().max(100).optional().meta({ description: 'Instead of a code of the app.' }),
      passkey: usedPasskey.optional().meta({ description: 'Instead of a code: what the browser answers.' }),
    })
    .transform(({ ticket, code: typed, recoveryCode, passkey }, context) => {
      if (typed !== undefined) return { ticket, step: { code: typed } }
      if (recoveryCode !== undefined) return { ticket, step: { recoveryCode } }
      if (passkey !== undefined) return { ticket, step: { passkey } }
      context.addIssue({ code: 'custom', path: ['code'], message: 'is required' })
      return z.NEVER
    })
    .meta({ id: 'SecondFactorRequest' }),
  answers: { 200: { description: 'The account and a new session.', schema: signedIn } },
  errors: ['invalid_request', 'invalid_credentials', 'account_suspended', ...LINK_ERRORS],
}).handle((deps: CompletionDeps) => {
  const box = createTotpBox(deps.config)
  const site = siteOf(deps.config)
  const terms = providerTerms(deps.config)
  const { log } = deps
  return async ({ body, request }) => {
    const sent = { ...body, browser: request.browser(), ...fromOf(deps.config, request) }
    const { token, user, mailIds } = await completeLogin({ ...deps, box, site, terms }, sent)
    for (const mailId of mailIds) enqueueMail(deps, mailId)
    logSecurity(log, request, 'recoveryCode' in body.step ? 'recovery_code_used' : 'logged_in', user.account_id)
    return { ok: true, token, user: presentUser(user) }
  }
})

/** Proves that the holder of a session is its user. */
export const proveYourself = endpoint({
  ...guessed,
  auth: anySession,
  method: 'post',
  path: '/api/auth/proof',
  summary: 'Prove yourself again',
  description:
    'With the password, a code of the authenticator app, or a passkey that verifies you, by ' +
    '`POST /api/auth/passkey/options`. It holds for 15 minutes of this session. With `provider`, the answer leads to ' +
    'the provider at which you signed in last, and `POST /api/auth/sign-in/finish` completes it.',
  body: z
    .object({
      password: z.string().optional(),
      code: code.optional(),
      passkey: usedPasskey.optional(),
      provider: z.literal(true, { error: 'must be true' }).optional(),
    })
    .transform(({ password, code: typed, passkey, provider }, context) => {
      if (password !== undefined) return { password }
      if (typed !== undefined) return { code: typed }
      if (passkey !== undefined) return { passkey }
      if (provider) return { provider }
      context.addIssue({ code: 'custom', path: ['password'], message: 'is required' })
      return z.NEVER
    })
    .meta({ id: 'ProofRequest' }),
  answers: {
    200: { description: 'You have proved yourself; or where you go to do so.', schema: z.union([done, address]) },
  },
  errors: ['invalid_request', 'wrong_password', 'proof_required', 'invalid_credentials', 'conflict', 'overloaded'],
}).handle((deps: CompletionDeps & Pick<WebDeps, 'providers'>) => {
  const box = createTotpBox(deps.config)
  const site = siteOf(deps.config)
  const usesPasswords = byPasswords(deps.config)
  return async ({ auth, body, request }) => {
    if ('provider' in body) return { ok: true, url: await proveAtProvider(deps, auth, request) }
    await proveAgain({ ...deps, box, site, usesPasswords }, auth, body, fromOf(deps.config, request))
    logSecurity(deps.log, request, 'proved', auth.accountId)
    return { ok: true }
  }
})
