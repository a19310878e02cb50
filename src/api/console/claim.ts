/** /api/auth/claim: the login of an account that was imported without one. */
import { z } from 'zod'
import { claimAccount } from '../../shared/identity/claims.ts'
import { presentUser } from '../../shared/identity/users.ts'
import type { WebDeps } from '../deps.ts'
import { signedIn } from '../endpoint/answer-schemas.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { PASSWORD_ERRORS, byPasswords, emailAddress, mailedToken, newPassword, ofLink } from './account-fields.ts'
import { enqueueMail } from './enqueue-mail.ts'
import { fromOf } from './entering.ts'
import { logSecurity } from './security-log.ts'

/** Gives an account its login by the link of an operator (`admin account claim`), and logs in. */
export const claim = endpoint({
  ...ofLink,
  path: '/api/auth/claim',
  offered: byPasswords,
  summary: 'Claim an imported account',
  description:
    'Gives an account that was imported without a login its address and password, by the link of an operator, and ' +
    'logs in. A verification mail is sent automatically. A refusal does not use up the link.',
  body: z.object({ token: mailedToken, email: emailAddress, password: newPassword }).meta({ id: 'ClaimRequest' }),
  answers: { 200: { description: 'The account and its first session.', schema: signedIn } },
  errors: ['invalid_token', 'invalid_email', ...PASSWORD_ERRORS, 'email_taken', 'account_suspended', 'overloaded'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'log' | 'queues'>) => async ({ body, request }) => {
  const { config, db, log } = deps
  const { user, token, mailId } = await claimAccount(db, {
    ...body,
    ...fromOf(config, request),
    language: request.language(),
  })
  enqueueMail(deps, mailId)
  logSecurity(log, request, 'account_claimed', user.account_id)
  return { ok: true, token, user: presentUser(user) }
})
