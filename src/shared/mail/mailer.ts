/** The mail transports: SMTP if SMTP_URL is set, else a line in MAIL_FILE, which reaches no real mailbox. */
import { appendFile, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createTransport } from 'nodemailer'
import { parseEmail } from '../terms/emails.ts'
import type { Config } from '../platform/config/config.ts'
import type { MailId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import { withoutSecrets } from '../platform/process/log.ts'
import type { MailContent } from './render.ts'

/** A mail to send. Its id becomes the Message-ID, so that a recipient of two tries sees one mail. */
type OutgoingMail = MailContent & { id: MailId; to: string }

/** Hands mails to a transport. */
export type Mailer = {
  transport: 'smtp' | 'file'
  /** Sends a mail; an abort ends the try. @throws the error of the server or the disk: see `describeFailure`. */
  send: (mail: OutgoingMail, signal: AbortSignal) => Promise<{ messageId: string }>
  /** Logs in where there is a server, and sends nothing. @throws the server's error. */
  check: () => Promise<void>
  /** Closes idle connections at once, and the others when their mail was sent. */
  close: () => void
}

type MailConfig = Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'MAIL_FILE' | 'MAIL_CONCURRENCY'>

/** The transport that is configured. */
export function createMailer(config: MailConfig): Mailer {
  const from = parseSender(config.MAIL_FROM)
  const messageIdOf = (id: MailId): string => `<${publicId('mail', id)}@${from.address.split('@').at(-1)}>`
  return config.SMTP_URL === undefined
    ? fileMailer(config.MAIL_FILE, config.MAIL_FROM, messageIdOf)
    : smtpMailer(config.SMTP_URL, config.MAIL_CONCURRENCY, from, messageIdOf)
}

/** MAIL_FROM: `Name <address>` or an address alone. */
function parseSender(text: string): { name: string; address: string } {
  const match = /^(.*)<([^<>]+)>\s*$/.exec(text)
  return match
    ? { name: match[1]!.trim().replace(/^"(.*)"$/, '$1'), address: match[2]!.trim() }
    : { name: '', address: text.trim() }
}

/** In ms: a server that hangs must not hold a worker for minutes, as the library's defaults would. */
const SMTP_TIMES = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 30_000,
  idleTimeout: 15_000,
} as const

function smtpMailer(
  url: string,
  connections: number,
  from: { name: string; address: string },
  messageIdOf: (id: MailId) => string,
): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: connections,
    ...SMTP_TIMES,
    // A connection that closed in the middle of a mail is retried after our own pauses.
    maxRequeues: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
    // No matter what SMTP_URL sets: the library would log whole mails, links included.
    logger: false,
  })
  return {
    transport: 'smtp',
    send: async ({ id, to, subject, text, html }, signal) => {
      // The library parses recipients as a list with names: a line break or a bracket would send the mail to someone
      // else.
      if (parseEmail(to) !== to) throw new Error('The recipient is no plain address.')
      const messageId = messageIdOf(id)
      await transport.sendMail({
        from,
        to: { name: '', address: to },
        envelope: { from: from.address, to: [to] },
        subject,
        text,
        html,
        messageId,
        signal,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      })
      return { messageId }
    },
    check: async () => {
      await transport.verify()
    },
    close: () => transport.close(),
  }
}

function fileMailer(file: string, from: string, messageIdOf: (id: MailId) => string): Mailer {
  return {
    transport: 'file',
    send: async ({ id, to, subject, text, html }) => {
      await mkdir(dirname(file), { recursive: true })
      // One write in append mode: lines of several processes do not mix. The links in it open accounts, so only the
      // owner may read the file.
      await appendFile(file, `${JSON.stringify({ date: new Date().toISOString(), from, to, subject, text, html })}\n`, {
        mode: 0o600,
      })
      return { messageId: messageIdOf(id) }
    },
    check: async () => {},
    close: () => {},
  }
}

/** Why a mail was not sent. `permanent`: the server refuses this very recipient and reports that it always will. */
export type MailFailure = { reason: string; permanent: boolean }

const REASON_LENGTH = 300

/** What an error of `send` means, in the server's own words. */
export function describeFailure(error: unknown): MailFailure {
  const { message, command, responseCode } = error as { message?: unknown; command?: unknown; responseCode?: unknown }
  const reason = withoutSecrets(String(message ?? error))
    .replace(/\s+/g, ' ')
    .trim()
  return {
    reason: reason.length > REASON_LENGTH ? `${reason.slice(0, REASON_LENGTH)}…` : reason,
    permanent: command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500,
  }
}
