import { expect } from 'chai'
import { publicId } from '../../src/shared/platform/ids.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { seriousFaults, holds } from './support/visit.ts'

const CALLER = 'caller@example.com'

describe('details of pages of the console', () => {
  const gateway = consoleWithPages()
  before(() => gateway.customer(CALLER, 1000))

  it('show first steps until a call has succeeded, and count a refused call as received', async () => {
    const email = 'beginner@example.com'
    const beginner = await gateway.customer(email, 100)
    await post(`${gateway.url}/v1/images/generations`, beginner.secret, { model: 'no-such-model', prompt: 'a fox' })
    const { page, open } = await gateway.signedIn(email)
    await open('/overview', 'Overview')
    await page.getByRole('region', { name: 'Calls' }).locator('tbody tr').waitFor()
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    await page.getByText('0 calls, refunded').waitFor()
    await page.locator('tbody tr a').click()
    const trail = page.getByTestId('trail')
    await trail.waitFor()
    expect(await trail.innerText())
      .to.contain('Received')
      .and.not.to.contain('Accepted')
    await page.keyboard.press('Escape')
    await post(`${gateway.url}/v1/images/generations`, beginner.secret, { model: 'sandbox-image', prompt: 'a fox' })
    await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })
  })

  // How the answer of each dialect is read is proved by said.test.ts.
  it('show the answer of a chat, and what its model wanted to call, until it is no longer stored', async () => {
    const { secret: key } = await gateway.customer('agent@example.com', 10_000)
    const { page, open, allow } = await gateway.signedIn('agent@example.com')
    const dialog = page.getByRole('dialog', { name: 'Call' })
    const ask = (path: string, body: object) =>
      post(`${gateway.url}${path}`, key, { model: 'sandbox-chat', max_tokens: 100, ...body })
    const messages = [{ role: 'user', content: '[tool]' }]
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    const { headers } = await ask('/v1/messages', { messages, tools })
    const call = `/calls/${headers.get('x-call-id')}`
    await open(call, 'Calls')
    await dialog.getByText('Messages', { exact: true }).waitFor()
    await dialog.getByText(`${gateway.url}/v1/messages`).waitFor()
    expect(await dialog.getByTestId('answer').count()).to.equal(0)
    await dialog.locator('summary', { hasText: 'Answer' }).click()
    await dialog.getByTestId('answer').getByText('Calls the tool look').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])

    await ask('/v1/chat/completions', { messages: [{ role: 'user', content: '[answer **well** yes]' }] })
    await open('/calls?dialect=chat', 'Calls')
    await until('one call is listed', async () => (await page.locator('tbody tr').count()) === 1)
    await page.locator('tbody tr a').click()
    await dialog.locator('summary', { hasText: 'Answer' }).click()
    await dialog.getByTestId('answer').locator('strong', { hasText: 'well' }).waitFor()
    await gateway.db('call_results').update({ expires_at: gateway.db.fn.now() })
    await open(call, 'Calls')
    await page.reload()
    await dialog.locator('summary', { hasText: 'Answer' }).click()
    await dialog.getByText('The answer is no longer kept.').waitFor()
    allow(/status of 410/)
  })

  it("show a new key's secret until its own button is pressed", async () => {
    const { page, open } = await gateway.signedIn(CALLER)
    await open('/keys', 'Keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('kept')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByTestId('secret').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    // The browser closes it at the second Escape, and it opens again.
    await page.getByTestId('secret').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByTestId('secret').waitFor({ state: 'detached' })
  })

  it('show the expiry of credits on the chosen day in every time zone', async () => {
    const operator = (await gateway.person('giver@example.com', { admin: true })).token
    const email = 'westerner@example.com'
    const { id } = await gateway.person(email, {})
    const expiresAt = `${new Date().getUTCFullYear() + 1}-12-31`
    await post(`${gateway.url}/api/operator/accounts/${publicId('account', id)}/grants`, operator, {
      amount: 5,
      origin: 'bonus',
      expiresAt,
    })
    const { page, open } = await gateway.signedIn(email, {
      timezoneId: 'America/Los_Angeles',
      locale: 'en-US',
    })
    await open('/credits', 'Credits')
    await page.getByText(`Dec 31, ${expiresAt.slice(0, 4)} UTC`).waitFor()
  })

  it('continue an answer while other pages are open, and focus the message field after Stop', async () => {
    const { page, open } = await gateway.signedIn(CALLER)
    await open('/playground', 'Playground')
    const code = async (): Promise<string> => {
      await page.getByRole('button', { name: 'As code' }).click()
      const text = await page.getByRole('dialog', { name: 'As code' }).innerText()
      await page.keyboard.press('Escape')
      return text
    }
    expect(await code()).to.contain('Your message')
    const message = page.getByLabel('Message')
    await message.fill('[hold] please answer')
    await message.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.getByRole('link', { name: 'Models' }).click()
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor()
    await page.getByRole('link', { name: 'Playground' }).click()
    await page.getByTestId('messages').getByText('please answer').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText(/Stopped. It cost/).waitFor()
    await holds(page, `document.activeElement.id === 'message'`)
    expect(await code())
      .to.contain('please answer')
      .and.not.to.contain('Your message')
  })

  it('name the devices of sessions, and sign out everywhere else', async () => {
    const email = 'traveller@example.com'
    const { token } = await gateway.person(email, {})
    const { page, open } = await gateway.visit({
      userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
    await open('/sign-in?next=/settings', 'Sign in')
    await fillSignIn({ page }, email)
    await page.getByText('Firefox on Windows').waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await until('one session is left', async () => (await page.locator('.sessions li').count()) === 1)
    expect((await get(`${gateway.url}/api/auth/me`, token)).status).to.equal(401)
  })

  it('change the address of an account by the mailed link, and delete the account, saying what is lost', async () => {
    const email = 'mover@example.com'
    const next = 'moved@example.com'
    const { page, open, allow } = await gateway.signedIn(email, { credits: 1200 })
    await open('/settings', 'Settings')
    const form = page.locator('section', { has: page.getByRole('heading', { name: 'E-mail address' }) })
    await form.getByLabel('New address').fill(email)
    await form.getByLabel('Your password').fill(PASSWORD)
    await form.getByRole('button', { name: 'Change address' }).click()
    await form.getByText('New address is your address already.').waitFor()
    await form.getByLabel('New address').fill(next)
    await form.getByRole('button', { name: 'Change address' }).click()
    await form.getByText(`a link has been sent to ${next}`).waitFor()
    await page.goto(await gateway.link(next))
    await page.getByTestId('new-address').getByText(next).waitFor()
    await page.getByRole('button', { name: 'Use this address' }).click()
    await page.getByRole('heading', { name: 'Your address has changed' }).waitFor()
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.locator('.account summary').click()
    await page.locator('.account').getByText(`Account ${next}`).waitFor({ state: 'attached' })

    await open('/settings', 'Settings')
    await page.getByRole('button', { name: 'Delete my account…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' })
    await dialog.getByText(next).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await dialog.getByLabel('E-mail address').fill(next)
    await dialog.getByLabel('Your password').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Delete my account' }).click()
    const giveUp = dialog.getByLabel('Give up the 1,200 credits that are left')
    const described = await giveUp.and(dialog.locator('[aria-invalid=true]')).getAttribute('aria-describedby')
    await dialog.locator(`[id="${described}"]`).getByText('1200 credits, which would be lost').waitFor()
    await giveUp.and(dialog.locator(':focus')).waitFor()
    await giveUp.check()
    await dialog.getByRole('button', { name: 'Delete my account' }).click()
    await page.getByText('Your account has been deleted.').waitFor()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    allow(/status of 4(00|09)/)
  })
})
