import { existsSync, readFileSync } from 'node:fs'
import { ensureConsole } from '../build/console.ts'
import { freePort } from '../services/ports.ts'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import type { Language } from '../../src/shared/terms/languages.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../src/shared/operators/changes.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import { newDatabaseUrl } from './database.ts'
import { startGateway } from './harness.ts'
import type { Gateway, Settings } from './harness.ts'
import { send } from './http.ts'
import { until } from './until.ts'

/** Edits the catalogue of the gateway. */
type Change = Parameters<typeof startGateway>[1]

export const PASSWORD = 'correct horse 1'

/** What a registered user is given: credits, the role of an operator, a language. */
export type PersonOptions = {
  credits?: number | undefined
  admin?: boolean | undefined
  language?: Language | undefined
}

/** The console with all that is behind it: web, worker, mail, sandbox. Its public address is the one it listens on. */
export type ConsoleGateway = Gateway & {
  /** Registers a user by the API. */
  person: (email: string, options?: PersonOptions) => Promise<{ id: AccountId; email: string; token: string }>
  /** The newest mailed link to an address, once there are `count`. */
  link: (email: string, count?: number) => Promise<string>
}

/** Builds the console if its sources have changed, and starts everything behind it, over a database of its own. */
export async function startConsoleGateway(settings: Settings = {}, change?: Change): Promise<ConsoleGateway> {
  await ensureConsole()
  const port = await freePort()
  const own = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, DATABASE_URL: await newDatabaseUrl() }
  const gateway = await startGateway({ ...own, ...settings }, change)
  const { db, url, config } = gateway
  return {
    ...gateway,
    person: async (email, { credits = 0, admin = false, language = 'en' } = {}) => {
      const { json } = await send('POST', `${url}/api/auth/register`, {
        headers: { 'accept-language': language },
        body: { email, password: PASSWORD, displayName: 'Ada Lovelace' },
      })
      const { account_id: id } = (await findUserByEmail(db, email))!
      if (credits > 0)
        await db.transaction((trx) =>
          grant(trx, { id: newId('grant'), accountId: id, origin: 'purchase', amount: credits }),
        )
      if (admin) await setAccountRole(db, null, id, 'admin')
      return { id, email, token: json.token as string }
    },
    link: (email, count = 1) => until(`mail ${count} for ${email}`, () => linkOf(config.MAIL_FILE, email, count)),
  }
}

/** The link in the nth mail to an address, once the file of mails has it. */
function linkOf(file: string, email: string, count: number): string | undefined {
  if (!existsSync(file)) return undefined
  const mails = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { to: string; text: string })
    .filter((mail) => mail.to.includes(email))
  return /https?:\S+#token=[\w-]+/.exec(mails[count - 1]?.text ?? '')?.[0]
}
