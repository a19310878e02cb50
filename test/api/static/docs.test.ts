import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser, openPage } from '../../support/browser.ts'
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

  it('works under its strict policy, loads nothing from elsewhere, and calls this server', async () => {
    const { page, faults, close } = await openPage(browser, web.url)
    // A busy machine takes long to show a document of this length.
    page.setDefaultTimeout(PATIENCE_MS)
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
