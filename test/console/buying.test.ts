import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startWorld } from '../../scripts/harness/console-world.ts'
import type { World } from '../../scripts/harness/console-world.ts'
import { post } from '../../scripts/harness/http.ts'
import { stripeAccountAt } from '../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../scripts/until.ts'
import { createSandbox } from '../../src/sandbox/server.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { aCustomer } from './support/customer.ts'
import { fitsTheScreen, seriousFaults, visit } from './support/visit.ts'
import type { Visit } from './support/visit.ts'

const SECRET = 'whsec_of_the_tests'
const PACK = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 100 }
const TOP_UP = { currency: 'eur', minMinor: 500, maxMinor: 100_000, creditsPer: 100, perMinor: 100 }

describe('buying credits in the console', () => {
  let world: World
  let bank: Sandbox
  let browser: Browser
  let stripe: StripeAccount
  before(async function () {
    browser = await openBrowser(this)
    bank = await createSandbox()
    stripe = stripeAccountAt(bank.url)
    const settings = {
      PAYMENTS: 'stripe',
      STRIPE_SECRET_KEY: stripe.key,
      STRIPE_WEBHOOK_SECRET: SECRET,
      STRIPE_API_BASE: bank.url,
    }
    world = await startWorld(settings, (catalogue) => Object.assign(catalogue, { packs: [PACK], topUp: TOP_UP }))
    await stripe.deliverTo(`${world.url}/hooks/stripe`, SECRET)
  })
  after(async () => {
    await closeBrowser()
    await world?.stop()
    await bank?.close()
  })

  /** What went wrong, but that a customer goes to the provider's page and back. */
  const faultsOf = ({ faults }: Visit): string[] => faults(new RegExp(`^asks ${bank.url}/stripe/pay/|favicon`))

  const balanceIs = (page: Page, balance: string): Promise<unknown> =>
    until(`the balance is ${balance}`, async () => (await page.getByTestId('balance').innerText()) === balance)

  /** Buys on the page of credits, pays with a card on the provider's page, and comes back. */
  async function buy(page: Page, button: string, keep = false): Promise<void> {
    await page.getByRole('button', { name: button, exact: true }).click()
    await page.getByRole('heading', { name: /^Pay €/ }).waitFor()
    if (keep) await page.getByLabel('Keep this card for later payments').check()
    await page.getByRole('button', { name: 'Pay by card' }).click()
    await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
    await page.getByTestId('returned').getByText('Thank you.').waitFor()
  }

  it('leads from nothing to paid calls; a refund of spent credits is a debt that is repaid first', async () => {
    const email = 'buyer@example.com'
    const { secret } = await aCustomer(world, email, 0)
    await world.person('seller@example.com', { admin: true })
    const customer = await visit(browser, world, { viewport: { width: 1440, height: 900 } })
    const { page } = customer
    await customer.signIn(email)
    await page.getByRole('link', { name: 'Buy credits' }).click()
    await page.getByRole('heading', { name: 'Buy credits' }).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await buy(page, 'Buy 1,000 credits for €10.00', true)
    await balanceIs(page, '1,100')
    expect(await page.getByTestId('payments').innerText()).to.match(/€10\.00\s+1,100\s+Checkout\s+Paid\s+Receipt/)
    await page.getByTestId('card').getByText('ending in 4242').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])

    // What a call costs leaves the balance before the page's eyes.
    const body = { model: 'dear-chat', messages: [{ role: 'user', content: '[tokens 100] hi' }], max_tokens: 100 }
    const call = await post(`${world.url}/v1/chat/completions`, secret, body)
    expect(call.status).to.equal(200)
    const cost: number = call.json.usage.credits
    const left = (1100 - cost).toLocaleString('en')
    await balanceIs(page, left)

    const operator = await visit(browser, world, { viewport: { width: 1440, height: 900 } })
    await operator.signIn('seller@example.com')
    await operator.open(`/operator/payments?search=${email}`, 'Operator')
    expect(await seriousFaults(operator.page)).to.deep.equal([])
    await operator.page.getByRole('region', { name: 'Payments' }).getByRole('link').first().click()
    expect(await operator.page.getByTestId('spent').innerText()).to.equal(String(cost))
    expect(await seriousFaults(operator.page)).to.deep.equal([])
    await operator.page.getByRole('button', { name: 'Refund' }).click()
    const refund = operator.page.getByRole('dialog').getByRole('button', { name: 'Refund' })
    await refund.click()
    await operator.page.getByRole('alert').getByText(`${cost} of these credits are spent`).waitFor()
    await operator.page.getByLabel('Refund although credits are spent').check()
    expect(await seriousFaults(operator.page)).to.deep.equal([])
    await refund.click()
    await operator.page.getByRole('dialog').waitFor({ state: 'detached' })
    await operator.page.getByTestId('reversed').getByText('1,100').waitFor()

    await page.getByTestId('debt').getByText(`You owe ${cost} credits`).waitFor()
    await balanceIs(page, '0')
    await buy(page, 'Buy 1,000 credits for €10.00')
    await balanceIs(page, left)
    expect(await page.getByTestId('debt').count()).to.equal(0)
    await page.getByTestId('ledger').getByText('Debt repaid').waitFor()

    // The refusal of the refund is what the browser writes of it.
    expect(operator.faults(/409/)).to.deep.equal([])
    expect(faultsOf(customer)).to.deep.equal([])
    await expectBooksToBalance(world.db)
    await operator.close()
    await customer.close()
  })

  it('sells any amount on a phone, redeems a code, and keeps the setting for low balances', async () => {
    const email = 'phone@example.com'
    await world.person(email)
    const customer = await visit(browser, world, { viewport: { width: 360, height: 740 } })
    const { page } = customer
    await customer.signIn(email)
    await customer.open('/credits', 'Credits')
    await page.getByLabel('Another amount (EUR)').fill('4')
    await page.getByRole('button', { name: 'Buy', exact: true }).click()
    await page.getByTestId('gives').getByText('Choose an amount from €5.00 to €1,000.00.').waitFor()
    await page.getByLabel('Another amount (EUR)').fill('12.34')
    await page.getByTestId('gives').getByText('Gives 1,234 credits.').waitFor()
    expect(await fitsTheScreen(page)).to.equal(true)
    await buy(page, 'Buy')
    await balanceIs(page, '1,234')
    expect(await fitsTheScreen(page)).to.equal(true)

    await page.getByLabel('Write to me below (credits)').fill('500')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()

    const { token } = await world.person('codes@example.com', { admin: true })
    const made = await post(`${world.url}/api/operator/codes`, token, { credits: 66 })
    await page.getByLabel('Code').fill(made.json.code)
    await page.getByRole('button', { name: 'Redeem' }).click()
    await page.getByText('66 credits received. Your balance is 1,300 credits.').waitFor()
    await balanceIs(page, '1,300')
    expect(faultsOf(customer)).to.deep.equal([])
    await expectBooksToBalance(world.db)
    await customer.close()
  })

  it('shows a payment that a bank has still to make, and its credits once it has', async () => {
    const email = 'slow@example.com'
    await world.person(email)
    const customer = await visit(browser, world)
    const { page } = customer
    await customer.signIn(email)
    await customer.open('/credits', 'Credits')
    await page.getByRole('button', { name: 'Buy 1,000 credits for €10.00' }).click()
    await page.getByRole('button', { name: 'By bank debit, which stays open' }).click()
    await page.getByTestId('returned').getByText('is not confirmed yet').waitFor()
    const { data } = await stripe.stripe.checkout.sessions.list({ limit: 1 })
    await stripe.control('POST', `sessions/${data[0]!.id}/settle`, { paid: true })
    await balanceIs(page, '1,100')
    await page.getByTestId('returned').getByText('Thank you.').waitFor()
    expect(faultsOf(customer)).to.deep.equal([])
    await customer.close()
  })
})
