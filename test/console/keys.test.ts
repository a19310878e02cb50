import { expect } from 'chai'
import { endSecret } from '../../src/shared/identity/api-keys.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { imageBody } from '../../scripts/harness/calling.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { withinOneDay } from '../support/one-day.ts'
import { consoleWithPages } from './support/pages.ts'
import { fitsTheScreen, seriousFaults } from './support/visit.ts'

describe('keys with limits in the console', () => {
  const gateway = consoleWithPages(() => startConsoleGateway({ CREDITS_HELP_URL: 'https://help.example.com/credits' }))

  beforeEach(withinOneDay)

  const call = (secret: string) => post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))

  it('tell why one is refused whose secret an operator ended, and make the new one', async () => {
    const { token } = await gateway.person('ended@example.com')
    const { json } = await post(`${gateway.url}/api/keys`, token, { name: 'server' })
    await gateway.db.transaction((trx) => endSecret(trx, parseId('key', json.key.id as string)!))
    const { page, open } = await gateway.signedIn('ended@example.com')
    await open('/keys', 'Keys')
    const notice = page.getByRole('status').filter({ hasText: 'An operator ended the secret of server' })
    await notice.waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await notice.getByRole('button', { name: 'Make a new secret' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Rotate key' }).click()
    const secret = (await dialog.getByTestId('secret').locator('code').innerText()).trim()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await notice.waitFor({ state: 'hidden' })
    expect((await get(`${gateway.url}/v1/models`, secret)).status).to.equal(200)
  })

  it('make a key with a budget, show it spent, raise it, rotate it, and let it go on', async () => {
    const { page, open, allow } = await gateway.signedIn('limits@example.com', { credits: 1000 })
    await open('/keys', 'Keys')
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('agent')
    await dialog.getByText('Limits', { exact: true }).click()
    await dialog.getByLabel('Budget (credits)').fill('40')
    await dialog.getByLabel('Budget period (UTC)').selectOption('day')
    await dialog.getByLabel('sandbox-image', { exact: true }).check()
    await dialog.getByLabel('Images').check()
    await dialog.getByLabel('Allowed addresses').fill('203.0.113.7, everywhere')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByText(/^Allowed addresses \(no. 2\) must be an IP address or a range/).waitFor()
    await dialog.getByLabel('Allowed addresses').fill('')
    expect(await seriousFaults(page)).to.deep.equal([])
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = (await dialog.getByTestId('secret').locator('code').innerText()).trim()
    await dialog.getByRole('button', { name: 'Done' }).click()

    expect((await call(secret)).status).to.equal(200)
    const refused = await call(secret)
    expect([refused.status, refused.json.error.message]).to.deep.equal([
      402,
      'This call reserves 40 credits; 0 are left of the budget of this key. Nothing was charged.',
    ])
    await open('/keys', 'Keys')
    await page.getByText(/40 of 40 credits each day/).waitFor()
    await page.getByText(/spent until/).waitFor()

    await page.getByRole('button', { name: 'Limits of agent' }).click()
    await dialog.getByLabel('Budget (credits)').fill('80')
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText(/40 of 80 credits each day/).waitFor()
    expect((await call(secret)).status).to.equal(200)

    await page.getByRole('button', { name: 'Rotate agent' }).click()
    await dialog.getByRole('button', { name: 'Rotate key' }).click()
    const next = (await dialog.getByTestId('secret').locator('code').innerText()).trim()
    await dialog.getByRole('button', { name: 'Done' }).click()
    expect([(await call(secret)).status, (await call(next)).status]).to.deep.equal([401, 402])
    await page.setViewportSize({ width: 390, height: 800 })
    await fitsTheScreen(page)
    // Where nothing is sold, an operator says how to get credits.
    await open('/credits', 'Credits')
    const help = page.getByRole('link', { name: 'Get credits' })
    expect(await help.getAttribute('href')).to.equal('https://help.example.com/credits')
    allow(/400/)
  })

  it('let an operator limit and revoke the keys of an account, and its owner see what each has used', async () => {
    const { token, id } = await gateway.person('keys-of@example.com', { credits: 1000 })
    const made = await Promise.all(['one', 'two'].map((name) => post(`${gateway.url}/api/keys`, token, { name })))
    const [secret, other] = made.map(({ json }) => json.secret as string)
    expect((await call(secret!)).status).to.equal(200)
    const operator = await gateway.signedIn('limiter@example.com', { admin: true })
    await operator.open(`/operator/accounts/${publicId('account', id)}`, 'Account')
    const keys = operator.page.getByRole('region', { name: 'Keys' })
    await keys.getByRole('button', { name: 'Limits of one' }).click()
    const dialog = operator.page.getByRole('dialog')
    await dialog.getByLabel('Budget (credits)').fill('30')
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    // A budget counts from when it is set.
    await keys.getByText(/0 of 30 credits each month/).waitFor()
    expect((await call(secret!)).json.error.code).to.equal('key_budget_exceeded')
    await keys.getByRole('button', { name: 'Revoke two' }).click()
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await keys.getByText(/^revoked/).waitFor()
    expect((await call(other!)).status).to.equal(401)

    const owner = await gateway.signedIn('keys-of@example.com')
    await owner.open('/overview', 'Overview')
    const spent = owner.page.locator('.tile', { hasText: 'Credits spent' }).locator('strong')
    const shows = (credits: string) => until(`${credits} spent`, async () => (await spent.innerText()) === credits)
    await shows('40')
    const choice = owner.page.getByLabel('Key', { exact: true })
    await choice.selectOption({ label: await choice.getByRole('option', { name: /^two/ }).innerText() })
    await shows('0')
    await choice.selectOption({ label: await choice.getByRole('option', { name: /^one/ }).innerText() })
    await shows('40')
  })
})
