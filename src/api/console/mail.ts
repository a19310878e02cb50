/**
 * /api/mail: how mail is sent, and whether it arrives.
 */
import { z } from 'zod'
import { createMailboxes } from '../../shared/mail/mailboxes.ts'
import { requireMember } from '../../shared/identity/users.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { newId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { CountedMail } from '../../shared/mail/allowance.ts'
import { countMail, lockMailbox, uncountMail } from '../../shared/mail/allowance.ts'
import { templatesIn } from '../../shared/mail/templates.ts'
import { describeFailure } from '../../shared/mail/mailer.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { session } from '../endpoint/auth.ts'
import { emailAddress } from './account-fields.ts'

/** How long the mail server may take over a test mail, in ms: routers in front of us give up after 30 s. */
const TEST_MS = 20_000

const transport = z.enum(['smtp', 'file'])

/** Shows the transport. */
export const showMail = endpoint({
  method: 'get',
  path: '/api/mail/status',
  tag: 'Mail',
  summary: 'Show the mail transport',
  description: '`file`: mails are written to a file on the server and reach nobody.',
  auth: session,
  answers: {
    200: {
      description: 'The transport.',
      schema: z.strictObject({ ok, transport, smtpConfigured: z.boolean(), baseUrl: z.string() }),
    },
  },
}).handle(({ config, mailer }: Pick<WebDeps, 'config' | 'mailer'>) => () => ({
  ok: true,
  transport: mailer.transport,
  smtpConfigured: mailer.transport === 'smtp',
  baseUrl: config.BASE_URL,
}))

/**
 * Sends a test mail while the request waits; to other addresses than one's own only once that is verified. A failure is
 * answered with the server's own reason.
 */
export const sendTestMail = endpoint({
  method: 'post',
  path: '/api/mail/test',
  tag: 'Mail',
  summary: 'Send a test mail',
  auth: session,
  body: z
    .object({
      to: emailAddress
        .nullish()
        .transform((value) => value ?? undefined)
        .meta({ description: 'Your own address if absent.' }),
    })
    .meta({ id: 'TestMailRequest' }),
  bodyIsOptional: true,
  answers: {
    200: {
      description: 'The mail server accepted it.',
      schema: z.strictObject({ ok, transport, to: z.string(), messageId: z.string() }),
    },
  },
  errors: ['invalid_email', 'email_unverified', 'rate_limited', 'mail_failed'],
}).handle((deps: Pick<WebDeps, 'config' | 'db' | 'limits' | 'mailer'>) => {
  const { config, db, limits, mailer } = deps
  const mailboxes = createMailboxes(config)
  return async ({ auth, body }) => {
    const user = await requireMember(db, auth)
    const to = body.to ?? user.email
    if (to !== user.email && user.email_verified_at === null) throw new ApiError('email_unverified')
    // Only a mail that may be sent counts; a sender's accounts count together.
    await limits.testMails.take(mailboxes(user.email).hash.toString('base64url'))
    const mail = { ...templatesIn(user.language).testMail(config.BASE_URL, to), id: newId('mail'), to }
    await countTestMail(db, { mailId: mail.id, mailbox: mailboxes(to), hourlyLimit: config.MAIL_RATE_LIMIT })
    const patience = AbortSignal.timeout(TEST_MS)
    try {
      const { messageId } = await mailer.send(mail, patience)
      return { ok: true, transport: mailer.transport, to, messageId }
    } catch (error) {
      // What was cut off may have been taken by the server.
      if (!patience.aborted) await uncountMail(db, mail.id)
      throw new ApiError('mail_failed', { message: describeFailure(error).reason, cause: error })
    }
  }
})

/** Counts a test mail, which is sent past the outbox, as the outbox counts its mails. @throws ApiError rate_limited. */
async function countTestMail(db: Db, mail: Omit<CountedMail, 'kind'>): Promise<void> {
  const retryAfterSeconds = await db.transaction(async (trx) => {
    await lockMailbox(trx, mail.mailbox)
    return countMail(trx, { ...mail, kind: 'test' })
  })
  if (retryAfterSeconds === null) return
  throw new ApiError('rate_limited', { message: 'This mailbox had its test mails for this hour.', retryAfterSeconds })
}
