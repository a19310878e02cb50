/** A console whose mails arrive in a mailbox, and what users do with the links in them. */
import type { Settings } from '../../../../scripts/harness/harness.ts'
import { startMailbox } from '../../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../../scripts/harness/mailbox.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { useFor } from '../../../support/gateway.ts'
import { aPerson, consoleConfig, startConsole, startMailWorker } from '../../../support/console.ts'
import type { Person, TestConsole } from '../../../support/console.ts'

export type MailConsole = {
  web: TestConsole
  mailbox: Mailbox
  me: (token: string) => Promise<Reply>
  verify: (token: unknown) => Promise<Reply>
  resend: (token: string) => Promise<Reply>
  /** Requests a reset mail, each time from another network address. */
  forgot: (email: unknown) => Promise<Reply>
  reset: (token: unknown, password: unknown) => Promise<Reply>
  /** The token in the `count`-th mail to a person. */
  tokenOf: (person: Person, count?: number) => Promise<string>
  /** A person, and the token of their reset mail, which is the second after that of the verification. */
  aForgetfulPerson: () => Promise<{ person: Person; token: string }>
  /** Makes all tokens of an address expire so long from now (a Postgres interval). */
  expireTokens: (email: string, after: string) => Promise<unknown>
  /** How long the tokens of an address last from when they were mailed, in seconds: at least, and at most. */
  livesOf: (email: string, purpose: string) => Promise<[number, number][]>
  stop: () => Promise<void>
}

async function startMailConsole(settings: Settings): Promise<MailConsole> {
  const mailbox = await startMailbox()
  const config = await consoleConfig({ SMTP_URL: mailbox.url, MAIL_RATE_LIMIT: '5', TRUST_PROXY: '1', ...settings })
  const web = await startConsole(config)
  const worker = startMailWorker(config)
  let clients = 0
  const forgot = (email: unknown): Promise<Reply> =>
    web.post('/api/email/forgot', { email }, undefined, {
      'x-forwarded-for': `10.9.${clients >> 8}.${clients++ & 255}`,
    })
  const tokenOf = async (person: Person, count = 1): Promise<string> =>
    (await mailbox.of(person.email, count))[count - 1]!.token!
  return {
    web,
    mailbox,
    forgot,
    tokenOf,
    me: (token) => web.get('/api/auth/me', token),
    verify: (token) => web.post('/api/email/verify', { token }),
    resend: (token) => web.post('/api/email/resend', {}, token),
    reset: (token, password) => web.post('/api/email/reset', { token, password }),
    aForgetfulPerson: async () => {
      const person = await aPerson(web)
      await mailbox.of(person.email)
      await forgot(person.email)
      return { person, token: await tokenOf(person, 2) }
    },
    expireTokens: async (email, after) =>
      web
        .db('one_time_tokens')
        .where({ email })
        .update({ expires_at: web.db.raw('now() + ?::interval', [after]) }),
    livesOf: async (email, purpose) => {
      const rows = await web
        .db('one_time_tokens')
        .where({ email, purpose })
        .select<{ most: number; least: number }[]>(
          web.db.raw('extract(epoch FROM expires_at - created_at)::float AS most'),
          web.db.raw('extract(epoch FROM expires_at - now())::float AS least'),
        )
      return rows.map(({ least, most }) => [least, most])
    },
    stop: async () => {
      await web.stop()
      await worker.stop()
      await mailbox.stop()
    },
  }
}

/** The mailing console of a suite. */
export const useMailing = (settings: Settings = {}): MailConsole =>
  useFor(
    () => startMailConsole(settings),
    ({ stop }) => stop(),
  )
