import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { COMMANDS } from '../../src/admin/commands.ts'
import { appOf } from '../api/console/support/app.ts'
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

describe('a second factor in the console', () => {
  const gateway = consoleWithPages(startByName)
  /** Makes all sessions too old to prove their users. */
  const ageSessions = () =>
    gateway.db('sessions').update({
      created_at: gateway.db.raw(`now() - interval '16 minutes'`),
      expires_at: gateway.db.raw(`now() + interval '1 hour'`),
    })
  const overview = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  it('by passkeys is added on a phone, signs in alone and second, proves its user, and is removed', async () => {
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
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await overview(page)

    await signOut()
    await fillSignIn({ page }, email)
    await page.getByRole('heading', { name: 'Confirm your sign-in' }).waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await overview(page)

    await ageSessions()
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

  it('by an app is added on a phone after a proof, asked for, replaced by a recovery code, and reset', async () => {
    const email = 'guarded@example.com'
    const { page, open, allow } = await gateway.signedIn(email, { viewport: PHONE })
    allow(/401 .*totp.confirm|403 .*totp/)
    await ageSessions()
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Add an authenticator app' }).click()
    // After the proof the request is repeated.
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: 'QR code of the secret' }).waitFor()
    const secret = (await page.getByTestId('totp-secret').locator('code').textContent())!
    const app = appOf(secret.trim())
    await page.getByLabel('Code of the app').fill('1')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('The code is wrong or was used.').waitFor()
    await page.getByLabel('Code of the app').fill(app())
    await page.getByRole('button', { name: 'Confirm' }).click()
    const codes = (await page.getByTestId('recovery-codes').locator('code').textContent())!.trim().split('\n')
    expect(codes).to.have.length(10)
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('one of 10 recovery codes').waitFor()
    await looksGood(page)

    const signIn = async (): Promise<void> => {
      await page.evaluate('sessionStorage.clear()')
      await open('/sign-in', 'Sign in')
      await fillSignIn({ page }, email)
    }
    await signIn()
    await page.getByRole('heading', { name: 'Confirm your sign-in' }).waitFor()
    await looksGood(page)
    await page.getByLabel('Code of the app').fill(app(1))
    await page.getByRole('button', { name: 'Continue' }).click()
    await overview(page)

    await signIn()
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0]!)
    await page.getByRole('button', { name: 'Continue' }).click()
    await overview(page)

    // Everything is lost.
    const reset = COMMANDS.find(({ usage }) => usage.startsWith('second-factor reset'))!
    await reset.run(gateway.db, [email], {})
    await signIn()
    await overview(page)
  })
})
