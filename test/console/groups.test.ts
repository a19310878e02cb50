import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { newDatabaseUrl } from '../../scripts/harness/database.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { seriousFaults, visit } from './support/visit.ts'

const GROUPS = { partner: { priceBasisPoints: 3335, models: ['sandbox-image', 'sandbox-chat'] } }

describe('groups of customers in the console', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway({ DATABASE_URL: await newDatabaseUrl() }, (catalogue) =>
      Object.assign(catalogue, { groups: GROUPS }),
    )
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  it('are chosen on the account’s page, and show their customers their own models and prices', async () => {
    await gateway.person('operator@example.com', { admin: true })
    const customer = await gateway.person('customer@example.com', {})
    const operators = await visit(browser, gateway)
    await operators.signIn('operator@example.com')
    await operators.open(`/operator/accounts/${publicId('account', customer.id)}`, 'Account')
    const { page } = operators
    await page.getByTestId('account-group').getByText('none').waitFor()
    await page.getByRole('button', { name: 'Change group' }).click()
    await page.getByRole('dialog').getByLabel('Group').selectOption('partner')
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByTestId('account-group').getByText('partner').waitFor()
    await page.getByText('Changed the group').waitFor()

    await operators.open('/operator/margins', 'Margins')
    await page.getByLabel('By group of customers').check()
    await operators.open('/operator/catalogue', 'Catalogue')
    await page.getByLabel('Group partner Price basis points').fill('5000')
    expect(await page.getByLabel('As JSON').inputValue()).to.contain('"priceBasisPoints": 5000')
    expect(operators.faults()).to.deep.equal([])
    await operators.close()

    const customers = await visit(browser, gateway)
    await customers.signIn('customer@example.com')
    await customers.open('/models', 'Models')
    const list = customers.page.locator('main')
    await list.getByText('14 credits per image').waitFor()
    await list.getByText('333.5 credits in · 1,000.5 credits out per 1M tokens').waitFor()
    expect(await list.innerText()).not.to.contain('sandbox-video')
    expect(customers.faults()).to.deep.equal([])
    await customers.close()
  })
})
