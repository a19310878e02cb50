import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { PHONE, looksGood } from './support/visit.ts'

/** Browsers have passkeys for names of hosts alone. */
async function startByName() {
  const port = await freePort()
  const url = `http://localhost:${port}`
  return { ...(await startConsoleGateway({ PORT: String(port), BASE_URL: url })), url }
}

/** A device that verifies its user at once. */
async function plugInDevice(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

describe('passkeys in the console', () => {
  const gateway = consoleWithPages(startByName)
  const overview = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  it('are added on a phone, sign in alone and as the second step, prove their user, and are removed', async () => {
    const email = 'keyed@example.com'
    const { page, open, allow } = await gateway.signedIn(email, { viewport: PHONE })
    allow(/403 .*passkeys/)
    await plugInDevice(page)
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByLabel('Name', { exact: true }).last().fill('My phone')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByTestId('recovery-codes').waitFor()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('My phone').waitFor()
    await page.getByRole('button', { name: 'Rename My phone' }).click()
    await page.getByLabel('Name', { exact: true }).last().fill('My new phone')
    await page.getByRole('button', { name: 'Save', exact: true }).last().click()
    await page.getByText('My new phone').waitFor()
    await looksGood(page)

    const signOut = async (): Promise<void> => {
      await page.evaluate('sessionStorage.clear()')
      await open('/sign-in', 'Sign in')
    }
    await signOut()
    await looksGood(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await overview(page)

    await signOut()
    await fillSignIn({ page }, email)
    await page.getByRole('heading', { name: 'Confirm your sign-in' }).waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await overview(page)

    await gateway.db('sessions').update({
      created_at: gateway.db.raw(`now() - interval '16 minutes'`),
      expires_at: gateway.db.raw(`now() + interval '1 hour'`),
    })
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Remove My new phone' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page
      .getByRole('dialog', { name: 'Confirm that it is you' })
      .getByRole('button', { name: 'Use a passkey' })
      .click()
    await page.getByRole('button', { name: 'Remove My new phone' }).waitFor({ state: 'detached' })
    expect(await gateway.db('passkeys')).to.deep.equal([])
  })
})
