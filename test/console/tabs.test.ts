import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { visit } from './support/visit.ts'

describe('many tabs of the console', () => {
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

  const shows = (tab: Page, balance: string) => tab.getByTestId('balance').getByText(balance, { exact: true }).waitFor()

  it('share one stream of events, which goes to another tab when the first is closed', async () => {
    const person = await gateway.person('tabs@example.com', { credits: 500 })
    const operator = await gateway.person('operator-of-tabs@example.com', { admin: true })
    const grant = (amount: number) =>
      post(`${gateway.url}/api/operator/accounts/${publicId('account', person.id)}/grants`, operator.token, {
        amount,
        origin: 'bonus',
      })
    const { page, open, close } = await visit(browser, gateway)
    await open('/sign-in', 'Sign in')
    let streams = 0
    const count = (tab: Page): void => {
      tab.on('request', (request) => {
        if (request.url().endsWith('/api/events')) streams += 1
      })
    }
    count(page)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByLabel('Password', { exact: true }).fill('correct horse 1')
    await page.getByLabel('Stay signed in').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await shows(page, '500')
    const tabs: Page[] = []
    for (let nth = 0; nth < 8; nth++) {
      const tab = await page.context().newPage()
      count(tab)
      await tab.goto(`${gateway.url}/overview`)
      await shows(tab, '500')
      await tab.locator('.dot.on').waitFor()
      tabs.push(tab)
    }
    expect(streams, 'streams of nine tabs').to.equal(1)
    await grant(100)
    for (const tab of [page, ...tabs]) await shows(tab, '600')
    await page.close()
    await until('another tab has opened the stream', () => streams === 2)
    await grant(100)
    for (const tab of tabs) await shows(tab, '700')
    expect(streams, 'streams after the first tab was closed').to.equal(2)
    await tabs.at(-1)!.goto(`${gateway.url}/credits`)
    await tabs.at(-1)!.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
    await close()
  })
})
