import { makeClaim } from '../../../src/shared/identity/claims.ts'
import { createUser } from '../../../src/shared/identity/users.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD } from '../../support/console.ts'
import { addApp, cookieOf } from '../console/support/app.ts'
import type { Requests } from '../support/visitor.ts'

/** Signing up and in, sessions, and mails. */
export const requests: Requests = {
  send: async ({ client, signUp, mailedToken, gateway: { db } }) => {
    const nobody = client()
    const { email, me } = await signUp()
    await nobody('POST', '/api/auth/login', { email, password: PASSWORD })
    await me('GET', '/api/auth/me')
    await me('PATCH', '/api/auth/me', { displayName: 'Ada L.', avatarUrl: 'https://example.com/a.png' })
    const { data } = (await me('GET', '/api/auth/sessions')).json
    await me('DELETE', `/api/auth/sessions/${data.find((one: { current: boolean }) => !one.current).id}`)
    await me('DELETE', '/api/auth/sessions')
    await me('POST', '/api/auth/password', { currentPassword: PASSWORD, password: `${PASSWORD}2` })
    await me('POST', '/api/email/resend')
    await nobody('POST', '/api/email/verify', { token: await mailedToken(email, /^Confirm/) })
    await me('POST', '/api/email/resend')
    const access = { token: await mailedToken(email, /^What can use/) }
    await nobody('POST', '/api/email/access', access)
    await nobody('POST', '/api/email/access/end', { ...access, password: PASSWORD })
    await nobody('POST', '/api/email/forgot', { email })
    await nobody('POST', '/api/email/reset', { token: await mailedToken(email, /password/), password: PASSWORD })
    const again = client((await nobody('POST', '/api/auth/login', { email, password: PASSWORD })).json.token)
    await again('GET', '/api/mail/status')
    await again('POST', '/api/mail/test', {})
    const next = `next-${email}`
    await again('POST', '/api/email/change', { email: next, password: PASSWORD })
    const token = await mailedToken(next, /^Confirm your new/)
    await nobody('POST', '/api/email/confirm/address', { token })
    await nobody('POST', '/api/email/reset/address', { token })
    await nobody('POST', '/api/email/confirm', { token })
    await again('GET', '/api/auth/second-factor')
    const { app } = await addApp(again)
    await again('POST', '/api/auth/proof', { code: app(1) })
    const half = await nobody('POST', '/api/auth/login', { email: next, password: PASSWORD })
    await db('totp_secrets').update({ last_step: 0 })
    const step = { ticket: half.json.ticket, code: app() }
    await nobody('POST', '/api/auth/second-factor', step, { cookie: cookieOf(half) })
    await again('DELETE', '/api/auth/totp')
    await again('POST', '/api/auth/logout')
    const last = client((await nobody('POST', '/api/auth/login', { email: next, password: PASSWORD })).json.token)
    await last('POST', '/api/auth/delete', { email: next, password: PASSWORD })
    const unclaimed = { id: newId('user'), accountId: newId('account'), email: null, passwordHash: 'none' }
    const claim = await db.transaction(async (trx) => {
      await createUser(trx, unclaimed)
      return makeClaim(trx, unclaimed.id)
    })
    await nobody('POST', '/api/auth/claim', { token: claim, email: `claims-${email}`, password: PASSWORD })
  },
}
