import { expect } from 'chai'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { PASSWORD, startConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway, PersonOptions } from '../../../scripts/harness/console-gateway.ts'
import { post } from '../../../scripts/harness/http.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import type { Language } from '../../../src/shared/terms/languages.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import { closeBrowser, openBrowser } from '../../support/browser.ts'
import { visit } from './visit.ts'
import type { Visit } from './visit.ts'

/** Where the console has the token of its tab (src/console/state/stored-token.ts). */
const TOKEN_KEY = 'tollgate.session'

type Pages = {
  /** A page in a context of its own, which ends with the test. Faults that the test does not `allow` fail it. */
  visit: (options?: BrowserContextOptions) => Promise<Visit>
  /**
   * A visit with a session of this user, who is registered by these options unless they are already. It acts for
   * `account`, by default their own, and has opened no page of the console yet.
   */
  signedIn: (email: string, options?: PersonOptions & BrowserContextOptions & { account?: AccountId }) => Promise<Visit>
  /** A visit that lasts until the end of the file. The test itself checks its faults. */
  longVisit: (options?: BrowserContextOptions) => Promise<Visit>
  /** Stores a session of a user in the tab of a visit, which signs it in. */
  signIn: (visit: Visit, email: string, account?: AccountId) => Promise<void>
  /** A registered user with credits and a key. */
  customer: (
    email: string,
    credits: number,
    language?: Language,
  ) => Promise<{ id: AccountId; token: string; secret: string }>
}

/** The console of a file of tests: everything behind it, and pages of it in a browser. */
export type ConsoleWithPages<T extends ConsoleGateway = ConsoleGateway> = T & Pages

/**
 * The console of the tests of a `describe`, started and stopped by hooks: what it has is there once they have run.
 * `usual`: faults that its visits may have.
 */
export function consoleWithPages<T extends ConsoleGateway = ConsoleGateway>(
  start: () => Promise<T> = () => startConsoleGateway() as Promise<T>,
  usual: (gateway: T) => RegExp = () => /^$/,
): ConsoleWithPages<T> {
  const gateway = {} as ConsoleWithPages<T>
  let browser: Browser
  const visits: Visit[] = []
  const closeAll = async (): Promise<void> => {
    for (const { close } of visits.splice(0)) await close()
  }
  before(async function () {
    browser = await openBrowser(this)
    Object.assign(gateway, await start(), pages)
  })
  // The pages of a failed test stay until it has been reported (test/support/at-failure.ts).
  beforeEach(closeAll)
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') return
    const faults = visits.flatMap((one) => one.faults())
    await closeAll()
    expect(faults).to.deep.equal([])
  })
  after(async () => {
    await closeBrowser()
    await gateway.stop?.()
  })

  const pages: Pages = {
    visit: async (options) => {
      const opened = await pages.longVisit(options)
      visits.push(opened)
      return opened
    },
    longVisit: async (options) => {
      const opened = await visit(browser, gateway, options)
      opened.allow(usual(gateway))
      return opened
    },
    signedIn: async (email, { credits, admin, language, account, ...options } = {}) => {
      if (!(await findUserByEmail(gateway.db, email))) await gateway.person(email, { credits, admin, language })
      const opened = await pages.visit(options)
      await pages.signIn(opened, email, account)
      return opened
    },
    signIn: async ({ page }, email, account) => {
      const user = (await findUserByEmail(gateway.db, email))!
      const own = { userId: user.id, accountId: account ?? user.account_id, passwordHash: user.password_hash }
      const session = await openSession(gateway.db, { ...own, userAgent: '', ip: '' })
      // A document of the same origin without the console, which will find the token when it is loaded.
      const document = { contentType: 'text/html', body: '<link rel="icon" href="data:,">' }
      await page.route(gateway.url, (route) => route.fulfill(document), { times: 1 })
      await page.goto(gateway.url)
      await page.evaluate(`sessionStorage.setItem('${TOKEN_KEY}', '${session!.token}')`)
    },
    customer: async (email, credits, language) => {
      const { id, token } = await gateway.person(email, { credits, language })
      const { json } = await post(`${gateway.url}/api/keys`, token, { name: 'test' })
      return { id, token, secret: json.secret as string }
    },
  }
  return gateway
}

/** Signs in by the form, which the page of a visit shows. `stay`: in all tabs of its browser. */
export async function fillSignIn({ page }: Pick<Visit, 'page'>, email: string, stay = false): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  if (stay) await page.getByLabel('Stay signed in').check()
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
