import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { post } from '../../scripts/harness/http.ts'
import { startWorld } from '../../scripts/harness/console-world.ts'
import type { World } from '../../scripts/harness/console-world.ts'
import { visit } from './support/visit.ts'
import { aCustomer } from './support/customer.ts'

describe('the overview', () => {
  let world: World
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    world = await startWorld()
  })
  after(async () => {
    await closeBrowser()
    await world?.stop()
  })

  it("has the chart's numbers as a table", async () => {
    const { secret } = await aCustomer(world, 'reader@example.com', 100)
    await post(`${world.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, faults, close } = await visit(browser, world)
    await signIn('reader@example.com')
    await page.locator('.plot canvas').waitFor()
    await page.getByText('As a table').click()
    const cells = page.getByRole('region', { name: 'Usage' }).locator('tbody td')
    await cells.first().waitFor()
    expect((await cells.allInnerTexts()).slice(1)).to.deep.equal(['sandbox-image', '1', '0', '40', '0', '0'])
    expect(faults()).to.deep.equal([])
    await close()
  })
})
