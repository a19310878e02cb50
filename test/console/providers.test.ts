import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { startProvider } from '../../scripts/services/provider.ts'
import type { LocalProvider } from '../../scripts/services/provider.ts'
import { providerSettings } from '../api/console/support/provider.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, fitsTheScreen, looksGood } from './support/visit.ts'

describe('the console with PASSWORDS=off', () => {
  const gateway = consoleWithPages(() =>
    startConsoleGateway({
      ...providerSettings([{ id: 'local', issuer: 'http://127.0.0.1:9' }]),
      PASSWORDS: 'off',
    }),
  )

  it('asks nobody for a password, and leads to the providers from every page', async () => {
    const { page, open } = await gateway.visit({ viewport: PHONE })
    for (const [path, heading] of [
      ['/sign-in', 'Sign in'],
      ['/sign-up', 'Create an account'],
    ] as const) {
      await open(path, heading)
      await page.getByRole('button', { name: 'Continue with Local' }).waitFor()
      await page.locator('input[type=password]').waitFor({ state: 'detached' })
      expect(await page.locator('a[href="/forgot"]').count(), path).to.equal(0)
      await looksGood(page)
    }
  })
})

describe('providers in the console', () => {
  let provider: LocalProvider
  const gateway = consoleWithPages(async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    provider = await startProvider({ redirectUris: [`${url}/auth/callback/local`] })
    const settings = providerSettings([{ id: 'local', issuer: provider.issuer }])
    return startConsoleGateway({ PORT: String(port), BASE_URL: url, ...settings })
  })
  after(() => provider.close())
  const overview = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const signInThere = async (page: Page, email: string, isVerified = true) => {
    await page.getByRole('heading', { name: 'Local provider' }).waitFor()
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('The address is verified').setChecked(isVerified)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('sign up on a phone, are not disconnected as the last way, and are connected by the password', async () => {
    const { page, open, allow } = await gateway.visit({ viewport: PHONE })
    allow(/409|401|^asks http:.*(auth|interaction)/)
    await open('/sign-up', 'Create an account')
    await looksGood(page)
    await page.getByRole('button', { name: 'Continue with Local' }).click()
    await signInThere(page, 'new@example.com')
    await overview(page)
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Disconnect Local (new@example.com)' }).click()
    await page.getByRole('button', { name: 'Disconnect', exact: true }).last().click()
    await page.getByText('This is your last way to sign in').waitFor()
    await fitsTheScreen(page)
    // Who has no password deletes the account without one.
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Delete my account…' }).click()
    await page.getByRole('dialog').getByLabel('E-mail address').fill('new@example.com')
    expect(await page.locator('input[type=password]').count()).to.equal(0)
    await page.getByRole('button', { name: 'Delete my account', exact: true }).click()
    await page.getByText('Your account has been deleted.').waitFor()

    const email = 'before@example.com'
    await page.context().clearCookies()
    await gateway.person(email)
    await gateway.db('users').where({ email }).update({ email_verified_at: gateway.db.fn.now() })
    await page.evaluate('sessionStorage.clear()')
    await open('/sign-in', 'Sign in')
    await page.getByRole('button', { name: 'Continue with Local' }).click()
    await signInThere(page, email)
    await page.getByRole('heading', { name: 'Connect Local' }).waitFor()
    await looksGood(page)
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await overview(page)
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: `Disconnect Local (${email})` }).waitFor()
  })

  it('accept an invitation for an address that a mailed link proves', async () => {
    const owner = await gateway.person('inviter@example.com')
    await gateway.db('users').where({ email: owner.email }).update({ email_verified_at: gateway.db.fn.now() })
    const ask = (path: string, body: object) => post(`${gateway.url}${path}`, owner.token, body)
    const { organisation } = (await ask('/api/organisations', { name: 'Engines' })).json
    await ask('/api/auth/switch', { account: organisation.id })
    const email = 'invited@example.com'
    await ask('/api/invitations', { email, role: 'member' })
    const { page, allow } = await gateway.visit({ viewport: PHONE })
    allow(/^asks http:.*(auth|interaction)/)
    await page.goto(await gateway.link(email))
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByRole('button', { name: 'Continue with Local' }).click()
    await signInThere(page, email, false)
    await page.getByRole('heading', { name: 'Which address is yours?' }).waitFor()
    await looksGood(page)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Send me a link' }).click()
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
    await page.goto(await gateway.link(email, 2))
    await page.getByRole('heading', { name: 'Complete your sign-in' }).waitFor()
    await fitsTheScreen(page)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await overview(page)
    await page.locator('.account summary').click()
    await page.getByRole('region', { name: 'Accounts' }).getByRole('button', { name: 'Engines' }).waitFor()
  })
})
