/**
 * /api/auth: registration, login, logout, and the account itself.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { logIn } from '../../shared/accounts/login.ts'
import { changePassword } from '../../shared/accounts/password-changes.ts'
import { register } from '../../shared/accounts/registration.ts'
import { endSession } from '../../shared/accounts/sessions.ts'
import { findUser, presentUser, updateProfile } from '../../shared/accounts/users.ts'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { deviceOf } from '../middleware/session.ts'
import { avatarUrl, displayName, emailAddress, newPassword } from './account-fields.ts'
import { parseFields } from '../parse-fields.ts'
import { nudgeMail } from './nudge.ts'
import { logSecurity } from './security-log.ts'

export const registerBody = z.object({ email: emailAddress, password: newPassword, displayName }).meta({ id: 'RegisterRequest' })

/** Makes an account and logs it in. Its verification mail goes out by itself. */
export function createAccount({ config, db, log, queues }: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>): Middleware<RequestState> {
  return async (ctx) => {
    const fields = parseFields(registerBody, bodyOf(ctx))
    const device = deviceOf(ctx, config.TRUST_PROXY)
    const signupCredits = config.SIGNUP_CREDITS_AT === 'registration' ? config.SIGNUP_CREDITS : 0
    const { user, token, mailId } = await register(db, { ...fields, signupCredits, device })
    nudgeMail({ queues, log }, mailId)
    logSecurity(log, ctx, 'registered', user.id)
    ctx.body = { ok: true, token, user: presentUser(user) }
  }
}

export const loginBody = z.object({
  email: z.string({ error: 'is required' }).meta({ description: 'Any text: one that is no account\'s address is refused like a wrong password.' }),
  password: z.string({ error: 'is required' }),
}).meta({ id: 'LoginRequest' })

/** Opens a session. @throws ApiError invalid_credentials, account_suspended. */
export function login({ config, db, log }: Pick<WebDeps, 'config' | 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const credentials = parseFields(loginBody, bodyOf(ctx))
    const outcome = await logIn(db, { ...credentials, device: deviceOf(ctx, config.TRUST_PROXY) })
    if ('refusal' in outcome) {
      logSecurity(log, ctx, 'login_refused', outcome.accountId, outcome.refusal)
      throw new ApiError(outcome.refusal)
    }
    logSecurity(log, ctx, 'logged_in', outcome.user.id)
    ctx.body = { ok: true, token: outcome.token, user: presentUser(outcome.user) }
  }
}

/** Shows who is logged in. */
export function showAccount({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const user = await findUser(db, ctx.state.session!.accountId)
    ctx.body = { ok: true, user: presentUser(user!) }
  }
}

export const profileBody = z.object({
  displayName: displayName.meta({ description: 'At most 60 characters.' }),
  avatarUrl: avatarUrl.meta({ description: 'An https address, or empty for none.' }),
}).meta({ id: 'ProfileRequest' })

/** Changes what is sent of the profile. */
export function changeAccount({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  return async (ctx) => {
    const profile = parseFields(profileBody, bodyOf(ctx))
    ctx.body = { ok: true, user: presentUser(await updateProfile(db, ctx.state.session!.accountId, profile)) }
  }
}

/** Ends the session that asks for it, and no other. */
export function logout({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId, sessionId } = ctx.state.session!
    await endSession(db, accountId, sessionId)
    logSecurity(log, ctx, 'logged_out', accountId)
    ctx.body = { ok: true }
  }
}

export const passwordBody = z.object({ currentPassword: z.string({ error: 'is required' }), password: newPassword }).meta({ id: 'PasswordRequest' })

/** Changes the password; all other sessions end. @throws ApiError wrong_password. */
export function replacePassword({ db, log }: Pick<WebDeps, 'db' | 'log'>): Middleware<RequestState> {
  return async (ctx) => {
    const fields = parseFields(passwordBody, bodyOf(ctx))
    await changePassword(db, { ...ctx.state.session!, ...fields })
    logSecurity(log, ctx, 'password_changed', ctx.state.session!.accountId)
    ctx.body = { ok: true }
  }
}
