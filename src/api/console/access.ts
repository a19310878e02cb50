/**
 * /api/email/access: what can use an account whose address was just proved, and how to end all of that. Somebody
 * who registered the address before its owner did may have keys and sessions.
 */
import { z } from 'zod'
import { endOtherWays } from '../../shared/sign-in/identities.ts'
import { networkHash } from '../../shared/identity/login.ts'
import { accessBy, closeAccess } from '../../shared/identity/password-changes.ts'
import { ok, messageAnswer } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { PASSWORD_ERRORS, mailedToken, ofLink, passwordOfReset } from './account-fields.ts'
import { logSecurity } from './security-log.ts'

const count = z.int().min(0)

/** Shows what can use an account, to a person who has just proved its address. */
export const showAccess = endpoint({
  ...ofLink,
  path: '/api/email/access',
  summary: 'Show what can use an account',
  description:
    'With the link of the mail about it, or for an hour with the link that has proved the address. The link can ' +
    'still be used.',
  body: z.object({ token: mailedToken }).meta({ id: 'AccessRequest' }),
  answers: {
    200: {
      description: 'How many keys and sessions can use the account.',
      schema: z.strictObject({ ok, email: z.string(), keys: count, sessions: count }),
    },
  },
  errors: ['invalid_token'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ body }) => ({ ok: true, ...(await accessBy(db, body.token)) }))

/** Ends all keys and sessions of an account, and sets a new password. */
export const endAccess = endpoint({
  ...ofLink,
  path: '/api/email/access/end',
  summary: 'End all keys and sessions, and set a new password',
  description: 'With the same links, which end with it. A refused password does not use them up.',
  body: z.object({ token: mailedToken, password: passwordOfReset }).meta({ id: 'EndAccessRequest' }),
  answers: { 200: { description: 'Nothing but the new password can use the account.', schema: messageAnswer } },
  errors: ['invalid_token', ...PASSWORD_ERRORS, 'overloaded'],
}).handle(({ config, db, log }: Pick<WebDeps, 'config' | 'db' | 'log'>) => async ({ body, request }) => {
  const address = request.device().ip
  const network = networkHash(config.APP_SECRET, address)
  const { accountId } = await closeAccess(db, {
    token: body.token,
    newPassword: body.password,
    address,
    network,
    endFactors: endOtherWays,
  })
  logSecurity(log, request, 'access_ended', accountId)
  return { ok: true, message: 'All API keys and sessions have ended. Log in with the new password.' }
})
