import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { imageBody } from '../../scripts/harness/calling.ts'
import { get, post, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { aCustomer } from './support/customer.ts'
import { startShop } from './support/shop.ts'
import type { Shop } from './support/shop.ts'
import { fitsTheScreen, seriousFaults, visit } from './support/visit.ts'

describe('an operator of the console', () => {
  let shop: Shop
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    shop = await startShop()
  })
  after(async () => {
    await closeBrowser()
    await shop?.stop()
  })

  /** A customer who bought 1,100 credits for €10, spent some on a picture, and has so many left. */
  async function aBuyer(email: string): Promise<{ secret: string; left: number }> {
    const { gateway, stripe } = shop
    const { token, secret } = await aCustomer(gateway, email, 0)
    const { payment } = (await post(`${gateway.url}/api/billing/checkout`, token, { pack: 'starter' })).json
    const id = (payment.id as string).slice('pay_'.length)
    const { session } = await gateway.db('payments').where({ id }).first<{ session: string }>('session')
    await stripe.pay(session, 'card')
    await post(`${gateway.url}/api/billing/payments/${payment.id}/sync`, token, {})
    const { status, json } = await post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
    expect(status).to.equal(200)
    return { secret, left: json.usage.balance as number }
  }

  /** Whether a page that was just opened shows the banner; it asks for it after all else. */
  const shows = (page: Page, width: number): Promise<boolean> =>
    page
      .getByTestId('banner')
      .getByText(`(${width})`)
      .waitFor({ timeout: 2000 })
      .then(
        () => true,
        () => false,
      )

  /** Nothing is wider than the screen, and everybody can use it, in both themes. */
  async function isWell(page: Page, place: string): Promise<void> {
    await fitsTheScreen(page)
    expect(await seriousFaults(page), place).to.deep.equal([])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html[data-theme=dark]').waitFor()
    expect(await seriousFaults(page, ['color-contrast']), `${place}, dark`).to.deep.equal([])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.locator('html[data-theme=light]').waitFor()
  }

  for (const [width, height] of [
    [1440, 900],
    [360, 740],
  ] as const) {
    it(`finds a customer, refunds, deducts, changes a price and sets a banner, at ${width} px`, async () => {
      const { gateway } = shop
      const email = `bought-${width}@example.com`
      const boss = `boss-${width}@example.com`
      const { secret, left } = await aBuyer(email)
      const credited = (amount: number): string => `${amount.toLocaleString('en')} credits`
      await gateway.person(boss, { admin: true })
      const own = await visit(browser, gateway, { viewport: { width, height }, reducedMotion: 'reduce' })
      const { page } = own
      const section = async (name: string): Promise<void> => {
        const menu = page.getByText(/^Section: /)
        if (await menu.isVisible()) await menu.click()
        await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click()
      }
      const panel = (name: string) => page.locator('section', { has: page.getByRole('heading', { name }) }).last()
      await own.signIn(boss)

      // Home: every number leads to its page.
      await own.open('/operator', 'Operator home')
      await page.getByRole('link', { name: /^Credits used/ }).waitFor()
      await page.getByRole('region', { name: 'Upstreams' }).getByText('sandbox').first().waitFor()
      await isWell(page, 'home')
      await page.getByRole('link', { name: /^Outstanding/ }).click()

      // Find.
      await page.getByLabel('Find an account').fill(email.slice(0, -8))
      await page.getByRole('button', { name: 'Find' }).click()
      await page.getByRole('region', { name: 'Accounts' }).getByRole('link', { name: email }).click()
      const balance = page.getByTestId('account-balance')
      await balance.getByText(credited(left)).waitFor()

      // Look: the ledger leads to the call, whose trail is the customer's own.
      await isWell(page, 'account')
      await page.getByTestId('ledger').getByRole('link', { name: /^call/ }).first().click()
      await page.getByTestId('trail').getByText('Settled').waitFor()
      await isWell(page, 'call')
      await page.getByRole('dialog').getByRole('link', { name: email }).click()

      // Refund half of the payment, which takes half of its credits.
      await page.getByRole('region', { name: 'Payments' }).getByRole('link').first().click()
      await page.getByRole('button', { name: 'Refund' }).click()
      await page.getByLabel('Amount (EUR)').fill('5.00')
      const force = page.getByLabel('Refund although credits are spent')
      if (await force.isVisible()) await force.check()
      await page.getByRole('dialog').getByRole('button', { name: 'Refund' }).click()
      await page.getByTestId('reversed').getByText('500').waitFor()
      await page.getByRole('link', { name: email }).click()
      await balance.getByText(credited(left - 500)).waitFor()

      // Deduct: what cannot be is said beside its field, in words.
      const deduct = panel('Deduct credits')
      const press = () => deduct.getByRole('button', { name: 'Deduct' }).click()
      await deduct.getByLabel('Amount').fill('0')
      await deduct.getByLabel('Reason').fill('granted twice')
      await press()
      await deduct.getByText('Amount must be at least 1').waitFor()
      await deduct.getByLabel('Amount').fill('600')
      await press()
      await deduct.getByText(`The account can spend ${credited(left - 500)}.`).waitFor()
      await deduct.getByLabel('Let credits that are already spent become debt').waitFor()
      await deduct.getByLabel('Amount').fill('60')
      await press()
      await deduct.getByText('Deducted 60 credits.').waitFor()
      await balance.getByText(credited(left - 560)).waitFor()
      await page.getByTestId('ledger').getByText('granted twice').waitFor()

      // A price.
      await section('Catalogue')
      const credits = page.getByLabel('sandbox-image credits')
      const price = Number(await credits.inputValue()) + 1
      await credits.fill(String(price))
      await page.getByRole('button', { name: 'Check and compare' }).click()
      await page.getByRole('button', { name: /^Apply as version/ }).click()
      await until('the new price', async () => {
        const { json } = await get(`${gateway.url}/v1/models`, secret)
        return (json.data as { id: string; credits: number }[]).some((one) => one.credits === price)
      })

      // A banner, which is seen without signing in, and dismissed for good in one browser.
      await section('Banner')
      await page.getByLabel('Text').fill(`Prices change on Monday (${width})`)
      await page.getByLabel('Level').selectOption('warning')
      await page.getByRole('button', { name: 'Set the banner' }).click()
      await page.getByTestId('set-banner').waitFor()
      const guest = await visit(browser, gateway, { viewport: { width, height }, reducedMotion: 'reduce' })
      await until('everybody sees the banner', async () => {
        await guest.open('/sign-in', 'Sign in')
        return shows(guest.page, width)
      })
      await guest.page.getByRole('button', { name: 'Dismiss' }).click()
      await guest.page.getByTestId('banner').waitFor({ state: 'detached' })
      await guest.page.getByLabel('E-mail address').fill(email)
      await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await guest.page.getByRole('button', { name: 'Sign in' }).click()
      await guest.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      expect(await guest.page.getByTestId('banner').count(), 'dismissed').to.equal(0)
      await until('the operator sees the banner', async () => {
        await own.open('/operator/banner', 'Banner')
        return shows(page, width)
      })
      await isWell(page, 'banner')
      await page.getByRole('button', { name: 'Remove the banner' }).click()
      await page.getByText('No banner is set').waitFor()

      // All of it is in the audit log.
      await section('Audit')
      await page.getByRole('region', { name: 'Audit' }).waitFor()
      const { token } = (
        await send('POST', `${gateway.url}/api/auth/login`, { body: { email: boss, password: PASSWORD } })
      ).json
      const { json } = await get(`${gateway.url}/api/operator/actions?operator=${boss}`, token as string)
      type Done = { action: string; accountId: string | null; details: { list?: string } }
      const done = (json.data as Done[]).filter(({ details }) => details.list === undefined)
      expect(done.map(({ action }) => action)).to.deep.equal([
        'banner_removed',
        'banner_set',
        'catalogue_applied',
        'credits_deducted',
        'payment_refunded',
        'account_viewed',
      ])
      await fitsTheScreen(page)

      // The refused deductions are what the browser writes of them.
      expect(shop.faultsOf(own, /4(00|09) \(/)).to.deep.equal([])
      expect(shop.faultsOf(guest)).to.deep.equal([])
      await guest.close()
      await own.close()
      await expectBooksToBalance(gateway.db)
    })
  }
})
