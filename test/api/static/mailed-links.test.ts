import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { ensureConsole } from '../../../scripts/build/console.ts'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
import type { WatchedPage } from '../../support/browser.ts'
import { PASSWORD, aPerson, logIn } from '../../support/console.ts'
import { useMailing } from '../console/support/mailing.ts'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'
import { fitsTheScreen, holds } from '../../console/support/visit.ts'

const heading = (page: Page): Promise<string> => page.locator('h1:visible').innerText()

describe('the pages behind mailed links', () => {
  const mailing = useMailing()
  let browser: Browser
  let opened: WatchedPage
  before(async function () {
    await ensureConsole()
    browser = await openBrowser(this)
  })
  after(closeBrowser)
  beforeEach(async () => {
    opened = await openPage(browser, mailing.web.url, { viewport: { width: 360, height: 700 } })
    opened.page.setDefaultTimeout(PATIENCE_MS)
  })
  afterEach(async () => {
    const { faults } = opened
    await opened.close()
    expect(faults).to.deep.equal([])
  })

  /** The link of a mail to an address, on the server of this test. */
  async function link(address: string, count = 1): Promise<string> {
    const mail = (await mailing.mailbox.of(address, count))[count - 1]!
    const url = new URL(/https:\S+#token=[\w-]+/.exec(mail.mail.text!)![0])
    return `${mailing.web.url}${url.pathname}${url.hash}`
  }

  async function resetLink(address: string): Promise<string> {
    await mailing.mailbox.of(address, 1)
    await mailing.forgot(address)
    return link(address, 2)
  }

  const isVerified = async (token: string): Promise<boolean> =>
    (await mailing.web.get('/api/auth/me', token)).json.user.emailVerified

  describe('/verify', () => {
    it('takes the token out of the history, and spends it when its button is pressed, by the keyboard', async () => {
      const person = await aPerson(mailing.web)
      await opened.page.goto(`${mailing.web.url}/`)
      await opened.page.goto(await link(person.email))
      expect(await heading(opened.page)).to.equal('Verify your e-mail address')
      await opened.page.getByRole('button', { name: 'Verify my address' }).waitFor()
      expect(await isVerified(person.token)).to.equal(false)
      await opened.page.keyboard.press('Tab')
      await opened.page.keyboard.press('Tab')
      await opened.page.keyboard.press('Enter')
      await opened.page.getByRole('heading', { name: 'Your address is verified' }).waitFor()
      await opened.page.getByText(person.email).waitFor()
      await holds(opened.page, `document.activeElement.textContent === 'Your address is verified'`)
      expect(await isVerified(person.token)).to.equal(true)
      await opened.page.goBack()
      await opened.page.goForward()
      await opened.page.waitForURL(`${mailing.web.url}/verify`)
    })

    it('asks for the link or its code if there is no token, as where a gateway has cut it off', async () => {
      const person = await aPerson(mailing.web)
      const code = (await link(person.email)).split('#token=')[1]!
      await opened.page.goto(`${mailing.web.url}/verify`)
      expect(await heading(opened.page)).to.equal('Open the link in our e-mail')
      await opened.page.getByLabel('Link or code').fill(code.slice(1))
      await opened.page.getByRole('button', { name: 'Continue' }).click()
      await opened.page.getByText('neither a complete link nor its code').waitFor()
      await opened.page.getByLabel('Link or code').fill(`enter this code: ${code}`)
      await opened.page.getByRole('button', { name: 'Continue' }).click()
      await opened.page.getByRole('button', { name: 'Verify my address' }).click()
      await opened.page.getByRole('heading', { name: 'Your address is verified' }).waitFor()
      expect(await isVerified(person.token)).to.equal(true)
    })
  })

  describe('/access', () => {
    // That both links end it all: test/api/console/first-proof.test.ts.
    it('says what can use the account, and ends it all with a new password', async () => {
      const { page } = opened
      const person = await aPerson(mailing.web)
      const { secret } = (await mailing.web.post('/api/keys', { name: 'theirs' }, person.token)).json
      const { pathname, hash } = new URL(await link(person.email))
      expect(pathname).to.equal('/verify')
      await mailing.web.post('/api/email/verify', { token: hash.split('=')[1] })
      await page.goto(await link(person.email, 2))
      await page.getByText('1 API key and 1 session can use this account').waitFor()
      await page.getByRole('button', { name: 'End all keys and sessions' }).click()
      await page.getByLabel('New password').fill('another horse 2')
      await page.getByRole('button', { name: 'End them and change my password' }).click()
      await page.getByRole('heading', { name: 'All keys and sessions have ended' }).waitFor()
      await fitsTheScreen(page)
      expect((await mailing.web.get('/v1/models', secret as string)).status).to.equal(401)
      expect((await mailing.web.get('/api/auth/me', person.token)).status).to.equal(401)
      expect(await logIn(mailing.web, person.email, 'another horse 2')).to.match(/^[\w-]{43}$/)
    })
  })

  describe('/reset', () => {
    const field = (page: Page) => page.getByLabel('New password')
    const change = (page: Page): Promise<void> => page.getByRole('button', { name: 'Change my password' }).click()

    it('changes the password, which is shown on request, and names the account and what has ended', async () => {
      const { email, token } = await aPerson(mailing.web)
      await mailing.web.post('/api/keys', { name: 'theirs' }, token)
      await opened.page.goto(await resetLink(email))
      await opened.page.waitForURL(`${mailing.web.url}/reset`)
      const name = opened.page.locator('input[autocomplete=username]')
      await name.waitFor({ state: 'attached' })
      expect(await name.inputValue(), 'for password managers').to.equal(email)
      expect(await field(opened.page).getAttribute('type')).to.equal('password')
      await field(opened.page).fill('another horse 2')
      await opened.page.getByRole('button', { name: 'Show the password' }).click()
      await opened.page.locator('#password[type=text]').waitFor()
      await field(opened.page).press('Enter')
      await opened.page.getByRole('heading', { name: 'Your password has been changed' }).waitFor()
      await opened.page.getByText('The API keys of the account have ended').waitFor()
      expect(await opened.page.evaluate(`document.getElementById('password')`)).to.equal(null)
      expect(await logIn(mailing.web, email, 'another horse 2')).to.match(/^[\w-]{43}$/)
      expect((await mailing.web.post('/api/auth/login', { email, password: PASSWORD })).status).to.equal(401)
    })

    it('says what is wrong with a password, keeps it while offline, and does not spend the link', async () => {
      const { email } = await aPerson(mailing.web)
      await opened.page.goto(await resetLink(email))
      for (const [password, problem] of [
        ['', 'at least 8'],
        ['short 1', 'at least 8'],
        ['only letters', 'one letter and one digit'],
        [`${'x1'.repeat(36)}x`, 'at most 72'],
      ] as const) {
        await field(opened.page).fill(password)
        await change(opened.page)
        await opened.page.getByRole('alert').filter({ hasText: problem }).waitFor()
        await holds(opened.page, `document.activeElement.matches('#password[aria-invalid=true]')`)
      }
      await field(opened.page).fill('😀'.repeat(35) + 'a1')
      await opened.page.context().setOffline(true)
      await change(opened.page)
      await opened.page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
      await opened.page.context().setOffline(false)
      await change(opened.page)
      await opened.page.getByRole('heading', { name: 'Your password has been changed' }).waitFor()
    })
  })
})
