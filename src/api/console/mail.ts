/**
 * /api/mail: which way mail goes out, and whether it arrives.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { findUser } from '../../shared/accounts/users.ts'
import { ApiError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { testLetter } from '../../shared/mail/letters.ts'
import { describeFailure } from '../../shared/mail/mailer.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { emailAddress } from './account-fields.ts'
import { parseFields } from '../parse-fields.ts'

/** How long the mail server may take over a test mail, in ms: routers in front of us give up after 30 s. */
const TEST_MS = 20_000

/** Shows the transport. */
export function showMail({ config, mailer }: Pick<WebDeps, 'config' | 'mailer'>): Middleware<RequestState> {
  return (ctx) => {
    const { transport } = mailer
    ctx.body = { ok: true, transport, smtpConfigured: transport === 'smtp', baseUrl: config.BASE_URL }
  }
}

export const testMailBody = z.object({
  to: emailAddress.nullish().transform((value) => value ?? undefined).meta({ description: 'Your own address where absent.' }),
}).meta({ id: 'TestMailRequest' })

/**
 * Sends a test mail while the request waits; to other addresses than one's own only once that is verified.
 * @throws ApiError email_unverified, rate_limited, mail_failed with the server's own reason.
 */
export function sendTestMail({ config, db, limits, mailer }: Pick<WebDeps, 'config' | 'db' | 'limits' | 'mailer'>): Middleware<RequestState> {
  return async (ctx) => {
    const { accountId } = ctx.state.session!
    const fields = parseFields(testMailBody, bodyOf(ctx))
    const user = (await findUser(db, accountId))!
    const to = fields.to ?? user.email
    if (to !== user.email && user.email_verified_at === null) throw new ApiError('email_unverified')
    await limits.testMails.take(accountId)
    const mail = { ...testLetter(config.BASE_URL, to), id: newId('mail'), to }
    try {
      const { messageId } = await mailer.send(mail, AbortSignal.timeout(TEST_MS))
      ctx.body = { ok: true, transport: mailer.transport, to, messageId }
    } catch (error) {
      throw new ApiError('mail_failed', { message: describeFailure(error).reason, cause: error })
    }
  }
}
