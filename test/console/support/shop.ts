import type { Page } from 'playwright-core'
import { startConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import type { StripeAccount } from '../../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../../scripts/harness/until.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import { consoleWithPages } from './pages.ts'
import type { ConsoleWithPages } from './pages.ts'

const SECRET = 'whsec_of_the_tests'
const PACK = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 100 }
const TOP_UP = { currency: 'eur', minMinor: 500, maxMinor: 100_000, creditsPer: 100, perMinor: 100 }

/** A gateway that sells credits, and the provider that takes the money. */
export type Shop = ConsoleGateway & { stripe: StripeAccount; bankUrl: string }

/**
 * The console of a shop (`consoleWithPages`). It sells 1,000 credits and 100 more for €10, and any amount from €5 to
 * €1,000 at a cent a credit.
 */
export const shopWithPages = (): ConsoleWithPages<Shop> =>
  // A customer goes to the provider's page and back.
  consoleWithPages(startShop, ({ bankUrl }) => new RegExp(`^asks ${bankUrl}/stripe/pay/|favicon`))

async function startShop(): Promise<Shop> {
  const bank = await createSandbox()
  const stripe = stripeAccountAt(bank.url)
  const settings = {
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: stripe.key,
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_BASE: bank.url,
  }
  const gateway = await startConsoleGateway(settings, (catalogue) =>
    Object.assign(catalogue, { packs: [PACK], topUp: TOP_UP }),
  )
  await stripe.deliverTo(`${gateway.url}/hooks/stripe`, SECRET)
  return {
    ...gateway,
    stripe,
    bankUrl: bank.url,
    stop: async () => {
      await gateway.stop()
      await bank.close()
    },
  }
}

/** Waits until the header says this balance. */
export const balanceIs = (page: Page, balance: string): Promise<unknown> =>
  until(`the balance is ${balance}`, async () => (await page.getByTestId('balance').innerText()) === balance)

/** Buys on the page of credits, pays with a card on the provider's page, and comes back. */
export async function buy(page: Page, button: string, keep = false): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('heading', { name: /^Pay €/ }).waitFor()
  if (keep) await page.getByLabel('Keep this card for later payments').check()
  await page.getByRole('button', { name: 'Pay by card' }).click()
  await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
  await page.getByTestId('returned').getByText('Thank you.').waitFor()
}
