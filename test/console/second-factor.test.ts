import { expect } from 'chai'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { appOf } from '../api/console/support/app.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'

describe('the second factor in the console', () => {
  const gateway = consoleWithPages()

  it('is added with a QR code, asked for at the next sign-in, and replaced by a recovery code', async () => {
    const email = 'guarded@example.com'
    const { page, open, allow } = await gateway.signedIn(email)
    allow(/401 .*totp.confirm/)
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Add an authenticator app' }).click()
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

    const again = await gateway.visit({})
    await again.open('/sign-in', 'Sign in')
    await fillSignIn(again, email)
    await again.page.getByRole('heading', { name: 'Confirm your sign-in' }).waitFor()
    await again.page.getByRole('button', { name: 'Use a recovery code' }).click()
    await again.page.getByLabel('Recovery code').fill(codes[0]!)
    await again.page.getByRole('button', { name: 'Continue' }).click()
    await again.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  it('is asked for as a proof, after which the request is repeated', async () => {
    const email = 'prover@example.com'
    const { page, open, allow } = await gateway.signedIn(email)
    allow(/403 .*totp/)
    await gateway.db('sessions').update({
      created_at: gateway.db.raw(`now() - interval '16 minutes'`),
      expires_at: gateway.db.raw(`now() + interval '1 hour'`),
    })
    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Add an authenticator app' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: 'QR code of the secret' }).waitFor()
  })
})
