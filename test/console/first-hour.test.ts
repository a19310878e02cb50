import { expect } from 'chai'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { image, prompted } from '../../scripts/harness/calling.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, looksGood } from './support/visit.ts'

const SETTINGS = { PUBLIC_CATALOGUE: 'on', WEBHOOK_ALLOW_PRIVATE: 'on' }

/** Where nobody listens. */
const NOWHERE = 'http://127.0.0.1:9/events'

describe('the first hour with the console', () => {
  const gateway = consoleWithPages(() => startConsoleGateway(SETTINGS))

  it('shows models and prices to a visitor, who signs up, and verifies by a mail that was not sent', async () => {
    const { page, open } = await gateway.visit({ viewport: PHONE })
    await open('/models', 'Models')
    await page.getByText('40 credits per image').first().waitFor()
    await looksGood(page)
    await page.getByRole('link', { name: 'Create an account' }).first().click()
    await page.getByLabel('Name').fill('Ada Lovelace')
    await page.getByLabel('E-mail address').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByTestId('balance').waitFor()
    await open('/dev/mail', 'Mails that were not sent')
    await looksGood(page)
    await page.getByRole('link', { name: /\/verify#token=/ }).click()
    await page.getByRole('button', { name: 'Verify my address' }).click()
    await page.getByRole('heading', { level: 1, name: 'Your address is verified' }).waitFor()
  })

  it('shows operators what failed before another upstream served a call, and the last failures', async () => {
    const account = await gateway.customer('unlucky@example.com', 1000)
    const moved = await image(gateway, { key: account.secret }, prompted(), { model: 'fallback-image' })
    expect(moved.status).to.equal(200)
    const { page, open } = await gateway.signedIn('why@example.com', { admin: true })
    const attempts = page.getByTestId('attempts').locator('tbody tr')
    await open(`/operator/calls/${moved.headers.get('x-call-id')}`, 'Calls')
    await attempts.filter({ hasText: 'unreachable' }).first().getByText('no answer').waitFor()
    await attempts.last().getByText('HTTP 200').waitFor()
    await looksGood(page)
    // Figures of calls may be ten seconds old: no test before this one has read them.
    await open('/operator/upstreams', 'Upstreams')
    await page.getByTestId('failures').locator('tbody a').first().click()
    await page.getByTestId('attempts').waitFor()
  })

  it('leads an operator from the checklist by Ctrl K to a new upstream, and warns that its key is missing', async () => {
    const { page, open } = await gateway.signedIn('first@example.com', { admin: true })
    await open('/operator', 'Operator home')
    await page.getByTestId('setup').getByText('Before customers come').waitFor()
    await page.getByTestId('setup').getByText('nothing serves unavailable-image').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).fill('catalogue')
    await page
      .getByRole('option', { name: /^Catalogue/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor()

    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add an upstream' }).click()
    await dialog.getByLabel('Name').fill('openai2')
    await dialog.getByLabel('Address').fill(`${gateway.sandbox.url}/v1`)
    await dialog.getByLabel('Variable of its key').fill('OPENAI2_KEY')
    await looksGood(page)
    await dialog.getByRole('button', { name: 'Write into the catalogue' }).click()
    await page.getByRole('button', { name: 'Add a model' }).click()
    await dialog.getByLabel('ID', { exact: true }).fill('only-new')
    await dialog.getByLabel('Upstream', { exact: true }).selectOption('openai2')
    await dialog.getByLabel('Its name there').first().fill('gpt-sandbox')
    await dialog.getByLabel('Kind').selectOption('embedding')
    await dialog.getByLabel('Credits per 1M input tokens').fill('20')
    await dialog.getByLabel('Least credits of a call').fill('1')
    await looksGood(page)
    await dialog.getByRole('button', { name: 'Write into the catalogue' }).click()
    await page.getByRole('button', { name: 'Check and compare' }).click()
    const findings = page.getByTestId('findings')
    await findings.getByText('Upstream openai2: the key "default" is not configured').waitFor()
    await findings.getByText('Model only-new').waitFor()
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: /^Apply as version/ }).click()
    await page.getByRole('button', { name: 'Edit the model only-new' }).waitFor()

    await open('/operator/upstreams', 'Upstreams')
    const row = page.getByTestId('upstream-keys').locator('tbody tr', { hasText: 'openai2' })
    await until('the new upstream is listed', async () => {
      if ((await row.count()) === 0) await page.getByRole('button', { name: 'Refresh' }).click()
      return (await row.count()) > 0
    })
    await row.getByText('Missing: its variable has no value').waitFor()
    await page.getByRole('button', { name: 'Test the key default of sandbox', exact: true }).click()
    await page.getByText(/^HTTP 200 in .*: the upstream accepts the key/).waitFor()
  })

  it('explains why a webhook is not taken, and since when', async () => {
    const { page, open } = await gateway.signedIn('hooked@example.com')
    await open('/webhooks', 'Webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill(NOWHERE)
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: NOWHERE }).click()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByRole('region', { name: 'Deliveries' }).getByText('no connection').waitFor()
    await page.reload()
    await page.getByText('Failing since').waitFor()
    await looksGood(page)
  })
})
