import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { post } from '../../scripts/harness/http.ts'
import { imageBody } from '../../scripts/harness/calling.ts'
import { startWorld } from '../../scripts/harness/console-world.ts'
import type { World } from '../../scripts/harness/console-world.ts'
import { fitsTheScreen, seriousFaults, visit } from './support/visit.ts'

describe('keys with limits in the console', () => {
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

  const call = (secret: string) => post(`${world.url}/v1/images/generations`, secret, imageBody('a fox'))

  it('make a key with a budget, show it spent, raise it, rotate it, and let it go on', async () => {
    await world.person('limits@example.com', { credits: 1000 })
    const { page, signIn, open, faults, close } = await visit(browser, world)
    await signIn('limits@example.com')
    await open('/keys', 'Keys')
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('agent')
    await dialog.getByText('Limits', { exact: true }).click()
    await dialog.getByLabel('Budget (credits)').fill('40')
    await dialog.getByLabel('Budget period (UTC)').selectOption('day')
    await dialog.getByLabel('Models').fill('sandbox-image')
    expect(await seriousFaults(page)).to.deep.equal([])
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const secret = (await dialog.getByTestId('secret').locator('code').innerText()).trim()
    await dialog.getByRole('button', { name: 'Done' }).click()

    expect((await call(secret)).status).to.equal(200)
    const refused = await call(secret)
    expect([refused.status, refused.json.error.message]).to.deep.equal([
      402,
      'The budget of this key is spent. Nothing was charged.',
    ])
    await open('/keys', 'Keys')
    await page.getByText(/40 of 40 credits each day/).waitFor()
    await page.getByText(/spent until/).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])

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
    expect(await fitsTheScreen(page)).to.equal(true)
    expect(faults()).to.deep.equal([])
    await close()
  })
})
