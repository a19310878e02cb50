import type { Readable } from 'node:stream'
import PostalMime from 'postal-mime'
import type { Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import type { SMTPServerEnvelope } from 'smtp-server'
import { until } from './until.ts'

/** A mail as the server received it: the SMTP envelope, and what its reader sees. */
export type ReceivedMail = {
  from: string
  to: string[]
  raw: string
  mail: Email
  messageId: string
  token: string | undefined
}

/** How the server refuses a mail. */
type Refusal = { at: 'RCPT' | 'DATA'; code: number; text: string }

export type Mailbox = {
  url: string
  /** Every mail that was accepted, in order. */
  received: ReceivedMail[]
  /** How many recipients were tried, accepted or not. */
  tries: () => number
  /** Refuses the next mails, one refusal each. */
  refuse: (...refusals: Refusal[]) => void
  /** The mails to an address, once there are `count` of them. */
  of: (address: string, count?: number) => Promise<ReceivedMail[]>
  /** The first mail to an address, once it has arrived. */
  first: (address: string) => Promise<ReceivedMail>
  stop: () => Promise<void>
}

const refusalOf = ({ code, text }: Refusal): Error => Object.assign(new Error(text), { responseCode: code })

/** A real SMTP server on a free or a given port, for any address. */
export async function startMailbox(
  options: { port?: number; user?: string; password?: string } = {},
): Promise<Mailbox> {
  const received: ReceivedMail[] = []
  const refusals: Refusal[] = []
  let tries = 0
  const server = new SMTPServer({
    disabledCommands: options.user === undefined ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    onAuth: (auth, _session, callback) =>
      auth.username === options.user && auth.password === options.password
        ? callback(null, { user: auth.username })
        : callback(new Error('Authentication credentials invalid')),
    onRcptTo: (_address, _session, callback) => {
      tries += 1
      callback(refusals[0]?.at === 'RCPT' ? refusalOf(refusals.shift()!) : null)
    },
    onData: (stream, session, callback) => void take(stream, session.envelope, callback),
  })
  const take = async (
    stream: Readable,
    { mailFrom, rcptTo }: SMTPServerEnvelope,
    callback: (error?: Error | null) => void,
  ): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    if (refusals[0]?.at === 'DATA') return callback(refusalOf(refusals.shift()!))
    const raw = Buffer.concat(chunks).toString()
    const mail = await PostalMime.parse(raw)
    received.push({
      from: mailFrom ? mailFrom.address : '',
      to: rcptTo.map((one) => one.address),
      raw,
      mail,
      messageId: mail.messageId ?? '',
      token: /#token=([\w-]+)/.exec(mail.text ?? '')?.[1],
    })
    callback(null)
  }
  server.on('error', () => {})
  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.server.address() as { port: number }
  const credentials = options.user === undefined ? '' : `${options.user}:${encodeURIComponent(options.password ?? '')}@`
  const of = (address: string, count = 1): Promise<ReceivedMail[]> =>
    until(`mail number ${count} for ${address}`, () => {
      const mine = received.filter((one) => one.to.includes(address))
      return mine.length >= count && mine
    })
  return {
    url: `smtp://${credentials}127.0.0.1:${port}`,
    received,
    tries: () => tries,
    refuse: (...more) => void refusals.push(...more),
    of,
    first: async (address) => (await of(address))[0]!,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
      }),
  }
}
