import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Gateway, Settings } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import { PASSWORD, anEmail } from '../../support/console.ts'
import type { Client } from './described.ts'

/** A registered account, and a client with its session token. */
type Account = { id: AccountId; email: string; token: string; me: Client }

/** What requests are sent with. Every answer is held against the document of the service. */
export type Visitor = {
  gateway: Gateway
  /** A client with a session token or an API key, or with neither. */
  client: (token?: string) => Client
  signUp: (options?: { credits?: number; role?: 'user' | 'admin' }) => Promise<Account>
  /** The token of the newest mail to an address that has this subject. */
  mailedToken: (email: string, subject: RegExp) => Promise<string>
}

/** Requests that the endpoints of one area answer with success. Those of another area may not have run before. */
export type Requests = {
  /** What the service must be configured with to offer them. */
  settings?: Settings
  send: (visitor: Visitor) => Promise<void>
}

/** What each file of test/api/requests exports as `requests`. */
export async function allRequests(): Promise<Requests[]> {
  const folder = join(import.meta.dirname, '../requests')
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  return Promise.all(files.map(async (name) => ((await import(join(folder, name))) as { requests: Requests }).requests))
}

/** A visitor of a running service. */
export function createVisitor(gateway: Gateway, client: Visitor['client']): Visitor {
  return {
    gateway,
    client,
    signUp: async ({ credits = 0, role = 'user' } = {}) => {
      const email = anEmail()
      const { token, user } = (await client()('POST', '/api/auth/register', { email, password: PASSWORD })).json
      const id = parseId('account', user.id as string)!
      const given = { id: newId('grant'), accountId: id, origin: 'bonus', amount: credits, expiresAt: null } as const
      if (credits > 0) await gateway.db.transaction((trx) => grant(trx, given))
      if (role !== 'user') await setAccountRole(gateway.db, null, id, role)
      return { id, email, token: token as string, me: client(token as string) }
    },
    mailedToken: (email, subject) =>
      until(`a mail to ${email}`, () => {
        const file = gateway.config.MAIL_FILE
        const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
        const mails = lines.map((line) => JSON.parse(line) as { to: string; subject: string; text: string })
        const newest = mails.findLast((mail) => mail.to === email && subject.test(mail.subject))
        return /#token=([\w-]+)/.exec(newest?.text ?? '')?.[1]
      }),
  }
}
