import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
import type { WatchedPage } from '../../support/browser.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'

describe('the API documentation', () => {
  let web: TestWeb
  let browser: Browser
  before(async function () {
    web = await startTestWeb()
    browser = await openBrowser(this)
  })
  after(async () => {
    await closeBrowser()
    await web.stop()
  })

  /** A page of its own. A busy machine takes long to show a document of this length. */
  async function openDocs(): Promise<WatchedPage> {
    const opened = await openPage(browser, web.url)
    opened.page.setDefaultTimeout(PATIENCE_MS)
    return opened
  }

  it('works under its strict policy, and loads nothing from elsewhere', async () => {
    const { page, faults, close } = await openDocs()
    await page.goto(`${web.url}/docs`)
    // Of a document of this length only what is in sight is shown.
    await page.locator('.opblock').nth(4).waitFor()
    await page.getByText('/v1/models', { exact: true }).click()
    await page.getByText('Parameters').first().waitFor()
    expect(faults).to.deep.equal([])
    await close()
  })

  it('lets a reader call an endpoint of this server', async () => {
    const { page, faults, close } = await openDocs()
    await page.goto(`${web.url}/docs#/Service/get_healthz`)
    await page.locator('#operations-Service-get_healthz').waitFor()
    await page.getByRole('button', { name: 'Try it out' }).click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    expect(faults).to.deep.equal([])
    await close()
  })

  it('serves only the files that it needs of its packages', async () => {
    for (const path of [
      '/docs/package.json',
      '/docs/index.js',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/swagger-ui.js',
    ]) {
      expect((await get(`${web.url}${path}`)).status, path).to.equal(404)
    }
  })
})
