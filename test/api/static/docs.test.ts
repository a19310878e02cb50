import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { ensureConsole } from '../../../scripts/build/console.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
import { seriousFaults } from '../../console/support/visit.ts'

describe('the documentation', () => {
  let web: TestWeb
  let browser: Browser
  before(async function () {
    this.timeout(300_000)
    await ensureConsole()
    web = await startTestWeb()
    browser = await openBrowser(this)
  })
  after(async () => {
    await closeBrowser()
    await web.stop()
  })

  it('of the API lists every request with a line to copy, and loads nothing from elsewhere', async () => {
    const { page, faults, close } = await openPage(browser, web.url)
    await page.goto(`${web.url}/docs#post-v1-images-generations`)
    await page.getByText(`curl -X POST "${web.url}/v1/images/generations"`).waitFor()
    await page.getByLabel('Search').fill('healthz')
    await page.getByText('/healthz', { exact: true }).waitFor()
    expect(await page.locator('.reference details').count()).to.equal(1)
    expect(await seriousFaults(page)).to.deep.equal([])
    expect(faults).to.deep.equal([])
    await close()
  })

  it('has the guides with the address of the reader, and links from one to another', async () => {
    const { page, faults, close } = await openPage(browser, web.url)
    await page.goto(`${web.url}/help`)
    await page.getByRole('link', { name: 'Claude Code, Codex and other agents' }).click()
    await page.getByText(`ANTHROPIC_BASE_URL=${web.url}`).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByRole('article').getByRole('link', { name: 'api/messages.md' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Messages, the API of Anthropic' }).waitFor()
    await page.goto(`${web.url}/help/nothing`)
    await page.getByText('There is no such guide').waitFor()
    expect(faults).to.deep.equal([])
    await close()
  })
})
