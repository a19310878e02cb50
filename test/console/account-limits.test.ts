import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { ownLimits } from '../../src/shared/identity/account-limits.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { seriousFaults, visit } from './support/visit.ts'

describe('the limits of an account in the console', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway()
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  it('are set and lifted on its page, which lists what was changed', async () => {
    await gateway.person('warden@example.com', { admin: true })
    const { id } = await gateway.person('limited@example.com')
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('warden@example.com')
    await open(`/operator/accounts/${publicId('account', id)}`, 'Account')
    await page.getByLabel('Requests per minute').fill('600')
    await page.getByLabel('Tokens per minute').fill('90000')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Changed limits').waitFor()
    const limits = { rateLimit: 600, maxOutstanding: null, tokensPerMinute: 90_000 }
    expect(await ownLimits(gateway.db, id)).to.deep.equal(limits)
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.reload()
    expect(await page.getByLabel('Requests per minute').inputValue()).to.equal('600')
    await page.getByLabel('Requests per minute').fill('')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await until('it is lifted', async () => (await ownLimits(gateway.db, id))!.rateLimit === null)
    expect(await ownLimits(gateway.db, id)).to.deep.equal({ ...limits, rateLimit: null })
    expect(faults()).to.deep.equal([])
    await close()
  })
})
