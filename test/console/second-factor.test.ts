import { expect } from 'chai'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { COMMANDS } from '../../src/admin/commands.ts'
import { appOf } from '../api/console/support/app.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { PHONE, looksGood } from './support/visit.ts'

describe('the second factor in the console', () => {
  const gateway = consoleWithPages()

  it('is added on a phone after a proof, asked for, replaced by a recovery code, and reset', async () => {
    const email = 'guarded@example.com'
    const { page, open, allow } = await gateway.signedIn(email, { viewport: PHONE })
    allow(/401 .*totp.confirm|403 .*totp/)
    await gateway.db('sessions').update({
      created_at: gateway.db.raw(`now() - interval '16 minutes'`),
      expires_at: gateway.db.raw(`now() + interval '1 hour'`),
    })
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
    const overview = () => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await signIn()
    await page.getByRole('heading', { name: 'Confirm your sign-in' }).waitFor()
    await looksGood(page)
    await page.getByLabel('Code of the app').fill(app(1))
    await page.getByRole('button', { name: 'Continue' }).click()
    await overview()

    await signIn()
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0]!)
    await page.getByRole('button', { name: 'Continue' }).click()
    await overview()

    // Everything is lost.
    const reset = COMMANDS.find(({ usage }) => usage.startsWith('second-factor reset'))!
    await reset.run(gateway.db, [email], {})
    await signIn()
    await overview()
  })
})
