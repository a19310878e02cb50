/**
 * /api/email: the mailed links, for the proof of an address and for a forgotten password.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { askReset, resetPassword } from '../../shared/accounts/password-changes.ts'
import { presentUser } from '../../shared/accounts/users.ts'
import { askVerification, verifyEmail } from '../../shared/accounts/verification.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { emailAddress, mailedToken, newPassword } from './account-fields.ts'
import { parseFields } from '../parse-fields.ts'
import { nudgeMail } from './nudge.ts'
import { logSecurity } from './security-log.ts'

export const verifyBody = z.object({ token: mailedToken }).meta({ id: 'VerifyRequest' })

/** Proves an address by its link, once, and gives the sign-up credits that wait for it. @throws ApiError invalid_token. */
export function verify({ config, db, log, replies }: Pick<WebDeps, 'config' | 'db' | 'log' | 'replies'>): Middleware<RequestState> {
  return async (ctx) => {
    const { token } = parseFields(verifyBody, bodyOf(ctx))
    const user = await verifyEmail(db, token, config.SIGNUP_CREDITS_AT === 'verification' ? config.SIGNUP_CREDITS : 0)
    logSecurity(log, ctx, 'email_verified', user.id)
    replies.tell(user.id, { callId: null, balance: user.credits })
    ctx.body = { ok: true, user: presentUser(user) }
  }
}

/** Mails another verification link. @throws ApiError already_verified, rate_limited. */
export function resend({ config, db, log, queues }: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>): Middleware<RequestState> {
  return async (ctx) => {
    nudgeMail({ queues, log }, await askVerification(db, ctx.state.session!.accountId, config.MAIL_RATE_LIMIT))
    ctx.body = { ok: true, message: 'A new verification link is on its way.' }
  }
}

export const forgotBody = z.object({ email: emailAddress }).meta({ id: 'ForgotRequest' })

/** Asks for a reset link. The answer, and the time it takes, is the same for every address. */
export function forgot({ db, log, queues }: Pick<WebDeps, 'db' | 'log' | 'queues'>): Middleware<RequestState> {
  return async (ctx) => {
    const { email } = parseFields(forgotBody, bodyOf(ctx))
    nudgeMail({ queues, log }, await askReset(db, email))
    ctx.body = { ok: true, message: 'If this address is registered, a reset link was sent to it.' }
  }
}

/** The password is looked at only where the link is good: see `resetPassword`. */
export const resetBody = z.object({ token: mailedToken, password: newPassword }).meta({ id: 'ResetRequest' })

/** Sets a new password by a reset link; every session ends. @throws ApiError invalid_token, the password's codes. */
export function reset({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const body = bodyOf(ctx)
    const { token } = parseFields(resetBody.pick({ token: true }), body)
    const accountId = await resetPassword(db, token, body.password)
    logSecurity(log, ctx, 'password_reset', accountId)
    ctx.body = { ok: true, message: 'The password was changed. Log in with the new one.' }
  }
}
