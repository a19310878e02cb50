import { expect } from 'chai'
import { post } from '../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceIs, buy, shopWithPages } from './support/shop.ts'
import { PHONE, fitsTheScreen, seriousFaults } from './support/visit.ts'

describe('buying credits in the console', () => {
  const gateway = shopWithPages()

  it('leads from nothing to paid calls; a refund of spent credits is a debt that is repaid first', async () => {
    const email = 'buyer@example.com'
    const { secret } = await gateway.customer(email, 0)
    const { page, open } = await gateway.signedIn(email, { viewport: { width: 1440, height: 900 } })
    await open('/credits', 'Credits')
    await buy(page, 'Buy 1,000 credits for €10.00', true)
    await balanceIs(page, '1,100')
    const payments = page.getByTestId('payments')
    await payments.filter({ hasText: /€10\.00\s*1,100\s*Checkout\s*Paid\s*Receipt/ }).waitFor()
    await page.getByTestId('card').getByText('ending in 4242').waitFor()

    // Automatic top-up says what is wrong beside its field, is turned on, and off again before the balance falls.
    await page.getByLabel('When the balance falls below (credits)').fill('50')
    await page.getByLabel('Buy', { exact: true }).selectOption('')
    await page.getByLabel('Amount (EUR)', { exact: true }).fill('1')
    await page.getByLabel('At most per month (EUR)').fill('lots')
    const topUp = page.locator('section', { has: page.getByRole('heading', { name: 'Automatic top-up' }) })
    await topUp.getByRole('button', { name: 'Turn on' }).click()
    await topUp.getByText('At most per month must be an amount, like 50.00.').waitFor()
    await page.getByLabel('At most per month (EUR)').fill('4.99')
    await page.getByLabel('Amount (EUR)', { exact: true }).fill('5')
    await topUp.getByRole('button', { name: 'Turn on' }).click()
    await topUp.getByText('At most per month must be at least €5.00, which one top-up costs.').waitFor()
    await page.getByLabel('At most per month (EUR)').fill('20')
    await page.getByLabel('Amount (EUR)', { exact: true }).fill('1')
    await topUp.getByRole('button', { name: 'Turn on' }).click()
    await topUp.getByText('Choose an amount from €5.00 to €1,000.00.').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByLabel('Amount (EUR)', { exact: true }).fill('5')
    await topUp.getByRole('button', { name: 'Turn on' }).click()
    await topUp.getByRole('button', { name: 'Turn off' }).click()
    await topUp.getByRole('button', { name: 'Turn on' }).waitFor()

    // What a call costs leaves the balance before the page's eyes.
    const body = { model: 'dear-chat', messages: [{ role: 'user', content: '[tokens 100] hi' }], max_tokens: 100 }
    const call = await post(`${gateway.url}/v1/chat/completions`, secret, body)
    expect(call.status).to.equal(200)
    const cost: number = call.json.usage.credits
    const left = (1100 - cost).toLocaleString('en')
    await balanceIs(page, left)

    const operator = await gateway.signedIn('seller@example.com', {
      admin: true,
      viewport: { width: 1440, height: 900 },
    })
    await operator.open(`/operator/payments?search=${email}`, 'Payments')
    expect(await seriousFaults(operator.page)).to.deep.equal([])
    await operator.page.getByRole('region', { name: 'Payments' }).getByRole('link').first().click()
    await operator.page.getByTestId('spent').getByText(String(cost), { exact: true }).waitFor()
    await operator.page.getByRole('button', { name: 'Refund' }).click()
    const refund = operator.page.getByRole('dialog').getByRole('button', { name: 'Refund' })
    // What is proposed can be refunded without a debt; more needs a decision.
    const amount = operator.page.getByLabel('Amount (EUR)')
    expect(Number(await amount.inputValue())).to.be.within(0.01, 9.99)
    await amount.fill('10.00')
    await refund.click()
    await operator.page.getByRole('alert').getByText(`${cost} of these credits are already spent`).waitFor()
    await operator.page.getByLabel('Refund although credits are spent').check()
    expect(await seriousFaults(operator.page)).to.deep.equal([])
    await refund.click()
    await operator.page.getByRole('dialog').waitFor({ state: 'detached' })
    await operator.page.getByTestId('reversed').getByText('1,100').waitFor()

    await page.getByTestId('debt').getByText(`You owe ${cost} credits`).waitFor()
    await balanceIs(page, '0')
    await buy(page, 'Buy 1,000 credits for €10.00')
    await balanceIs(page, left)
    await page.getByTestId('debt').waitFor({ state: 'detached' })
    await page.getByTestId('ledger').getByText('Debt repaid').waitFor()

    // The refusal of the refund is what the browser writes of it.
    operator.allow(/409/)
    await expectBooksToBalance(gateway.db)
  })

  it('sells any amount on a phone, redeems a code, and keeps the setting for low balances', async () => {
    const { page, open } = await gateway.signedIn('phone@example.com', { viewport: PHONE })
    await open('/credits', 'Credits')
    await page.getByLabel('Another amount (EUR)').fill('4')
    await page.getByRole('button', { name: 'Buy', exact: true }).click()
    await page.getByTestId('gives').getByText('Choose an amount from €5.00 to €1,000.00.').waitFor()
    await page.getByLabel('Another amount (EUR)').fill('12.34')
    await page.getByTestId('gives').getByText('€12.34 buys 1,234 credits.').waitFor()
    await fitsTheScreen(page)
    await buy(page, 'Buy')
    await balanceIs(page, '1,234')
    await fitsTheScreen(page)

    await page.getByLabel('E-mail me below (credits)').fill('500')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()

    const { token } = await gateway.person('codes@example.com', { admin: true })
    const made = await post(`${gateway.url}/api/operator/codes`, token, { credits: 66 })
    await page.getByLabel('Code').fill(made.json.code)
    await page.getByRole('button', { name: 'Redeem' }).click()
    await page.getByText('66 credits received. Your balance is 1,300 credits.').waitFor()
    await balanceIs(page, '1,300')
    await expectBooksToBalance(gateway.db)
  })

  it('shows a payment that a bank has still to make, and its credits once it has', async () => {
    const { page, open } = await gateway.signedIn('slow@example.com')
    await open('/credits', 'Credits')
    await page.getByRole('button', { name: 'Buy 1,000 credits for €10.00' }).click()
    await page.getByRole('button', { name: 'By bank debit, which stays open' }).click()
    await page.getByTestId('returned').getByText('is not confirmed yet').waitFor()
    const { data } = await gateway.stripe.stripe.checkout.sessions.list({ limit: 1 })
    await gateway.stripe.control('POST', `sessions/${data[0]!.id}/settle`, { paid: true })
    await balanceIs(page, '1,100')
    await page.getByTestId('returned').getByText('Thank you.').waitFor()
  })

  it('says that nothing was paid where a checkout was given up, goes on with it, and cancels it', async () => {
    const { page, open } = await gateway.signedIn('hesitant@example.com')
    await open('/credits', 'Credits')
    await page.getByRole('button', { name: 'Buy 1,000 credits for €10.00' }).click()
    await page.getByRole('link', { name: 'Back without paying' }).click()
    const returned = page.getByTestId('returned')
    await returned.getByText('Nothing was paid yet: €10.00 for 1,100 credits.').waitFor()
    await page.getByTestId('payments').getByText('Not paid yet').waitFor()
    await returned.getByRole('link', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: /^Pay €/ }).waitFor()
    await page.goBack()
    await page.getByTestId('payments').getByRole('button', { name: 'Cancel' }).click()
    await page.getByTestId('payments').getByText('Expired').waitFor()
    expect(await page.getByTestId('payments').getByRole('link', { name: 'Continue' }).count()).to.equal(0)
  })

  it('says in the console that an automatic top-up failed, why, and when it is tried again', async () => {
    const { page, open } = await gateway.signedIn('declined@example.com')
    await open('/credits', 'Credits')
    await buy(page, 'Buy 1,000 credits for €10.00', true)
    const { account_id: id } = await gateway
      .db('payments')
      .orderBy('id', 'desc')
      .first<{ account_id: string }>('account_id')
    await gateway
      .db('billing_settings')
      .where({ account_id: id })
      .update({
        top_up_pack: 'starter',
        top_up_monthly_cap_minor: 5000,
        top_up_declines: 1,
        top_up_failure: 'insufficient_funds',
        top_up_failed_at: gateway.db.fn.now(),
        top_up_retry_at: gateway.db.raw("now() + interval '8 hours'"),
      })
    await gateway.db('accounts').where({ id }).update({ top_up_below: 10 })
    await open('/credits', 'Credits')
    const failure = page.getByTestId('top-up-failure')
    await failure.getByText('The last automatic top-up failed').waitFor()
    await failure.getByText('The card has insufficient funds.').waitFor()
  })
})
