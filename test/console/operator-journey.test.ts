import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { imageBody } from '../../scripts/harness/calling.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { PHONE, fitsTheScreen, looksGood } from './support/visit.ts'

describe('an operator of the console, on a phone', () => {
  const gateway = consoleWithPages()

  /** Whether a page that was just opened shows the banner; it asks for it after all else. */
  const showsBanner = (page: Page): Promise<boolean> =>
    page
      .getByTestId('banner')
      .waitFor({ timeout: 2000 })
      .then(
        () => true,
        () => false,
      )

  /** Opens a section by the menu, which closes then. */
  async function section(page: Page, name: string): Promise<void> {
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await sections.waitFor({ state: 'hidden' })
    await page.getByText(/^Section: /).click()
    await sections.waitFor()
    await fitsTheScreen(page)
    const [inner, outer] = await page.evaluate<number[]>(
      '[document.querySelector(".strip").scrollWidth, document.querySelector(".strip").clientWidth]',
    )
    expect(inner).to.equal(outer)
    await sections.getByRole('link', { name, exact: true }).click()
    await sections.waitFor({ state: 'hidden' })
    await page.getByText(`Section: ${name}`).waitFor()
  }

  it('finds a customer, deducts and sets a banner; every page fits', async () => {
    const email = 'bought@example.com'
    const boss = 'boss@example.com'
    const { secret } = await gateway.customer(email, 600)
    const spent = await post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
    const left = spent.json.usage.balance as number
    const credited = (amount: number): string => `${amount.toLocaleString('en')} credits`
    const { page, open, allow } = await gateway.signedIn(boss, {
      admin: true,
      viewport: PHONE,
      reducedMotion: 'reduce',
    })
    // The refused deductions are what the browser writes of them.
    allow(/4(00|09) \(/)
    const panel = (name: string) => page.locator('section', { has: page.getByRole('heading', { name }) }).last()

    // Home: every number leads to its page.
    await open('/operator', 'Operator home')
    await page.getByRole('link', { name: /^Credits used/ }).waitFor()
    await page.getByRole('region', { name: 'Upstreams' }).getByText('sandbox').first().waitFor()
    await fitsTheScreen(page)
    await page.getByRole('link', { name: /^Outstanding/ }).click()

    // Find.
    await page.getByLabel('Find an account').fill(email.slice(0, -8))
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('region', { name: 'Accounts' }).getByRole('link', { name: email }).click()
    const balance = page.getByTestId('account-balance')
    await balance.getByText(credited(left)).waitFor()

    // Look: the ledger leads to the call, whose trail is the customer's own.
    await fitsTheScreen(page)
    await page.getByTestId('ledger').getByRole('link', { name: /^call/ }).first().click()
    await page.getByTestId('trail').getByText('Settled').waitFor()
    await fitsTheScreen(page)
    await page.getByRole('dialog').getByRole('link', { name: email }).click()

    // Deduct: a fault is next to its field, in words.
    const deduct = panel('Deduct credits')
    const press = () => deduct.getByRole('button', { name: 'Deduct' }).click()
    await deduct.getByLabel('Amount').fill('0')
    await deduct.getByLabel('Reason').fill('granted twice')
    await press()
    await deduct.getByText('Amount must be at least 1').waitFor()
    await deduct.getByLabel('Amount').fill('600')
    await press()
    await deduct.getByText(`The account can spend ${credited(left)}.`).waitFor()
    await deduct.getByLabel('Let credits that are already spent become debt').waitFor()
    await deduct.getByLabel('Amount').fill('60')
    await press()
    await deduct.getByText('Deducted 60 credits.').waitFor()
    await balance.getByText(credited(left - 60)).waitFor()
    await page.getByTestId('ledger').getByText('granted twice').waitFor()

    // A banner, which is seen without signing in, and dismissed for good in one browser.
    await section(page, 'Banner')
    await page.getByLabel('Text').fill('Prices change on Monday')
    await page.getByLabel('Level').selectOption('warning')
    await page.getByRole('button', { name: 'Set the banner' }).click()
    await page.getByTestId('set-banner').waitFor()
    const guest = await gateway.visit({ viewport: PHONE, reducedMotion: 'reduce' })
    await until('everybody sees the banner', async () => {
      await guest.open('/sign-in', 'Sign in')
      return showsBanner(guest.page)
    })
    await guest.page.getByRole('button', { name: 'Dismiss' }).click()
    await guest.page.getByTestId('banner').waitFor({ state: 'detached' })
    await fillSignIn(guest, email)
    await guest.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await guest.page.getByTestId('banner').count(), 'dismissed').to.equal(0)
    await until('the operator sees the banner', async () => {
      await open('/operator/banner', 'Banner')
      return showsBanner(page)
    })
    await looksGood(page)
    await page.getByRole('button', { name: 'Remove the banner' }).click()
    await page.getByText('No banner is set').waitFor()

    // All of it is in the audit log.
    await section(page, 'Audit')
    await page.getByRole('region', { name: 'Audit' }).waitFor()
    const { token } = await gateway.person('auditor@example.com', { admin: true })
    const { json } = await get(`${gateway.url}/api/operator/actions?operator=${boss}`, token)
    type Done = { action: string; details: { list?: string } }
    const done = (json.data as Done[]).filter(({ details }) => details.list === undefined)
    expect(done.map(({ action }) => action)).to.deep.equal(
      'banner_removed banner_set credits_deducted account_viewed'.split(' '),
    )
    await fitsTheScreen(page)
    await expectBooksToBalance(gateway.db)
    // It opens every page.
  }).timeout(150_000)
})
