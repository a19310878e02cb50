import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { publicId } from '../../src/shared/platform/ids.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { balanceIs } from './support/shop.ts'
import { holds, visit } from './support/visit.ts'

/** Makes a key on its page and returns its secret. */
async function makeKey(page: Page, name: string): Promise<string> {
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await page.getByTestId('secret').locator('code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  return secret
}

async function useKey(page: Page, secret: string): Promise<void> {
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByRole('button', { name: 'Paste a key' }).click()
  await page.getByLabel('API key').fill(secret)
  await page.getByRole('button', { name: 'Use key' }).click()
}

describe('sessions and calls in the console', () => {
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

  it('stops a chat on request: what was produced is charged, the rest is given back', async () => {
    const email = 'stopper@example.com'
    await gateway.person(email, { credits: 100_000 })
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn(email)
    await useKey(page, await makeKey(page, 'stop'))
    await page.getByLabel('Model').selectOption('dear-chat')
    await page.getByLabel('Message').fill('[hold] [chunks 10 0] [tokens 200] a long story')
    await page.getByRole('button', { name: 'Send' }).click()
    await holds(page, `document.querySelector('.message.assistant p')?.textContent.length > 20`)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('link', { name: 'This call' }).click()
    await page.getByTestId('trail').getByText('Settled').waitFor()
    await page.getByTestId('trail').getByText(/^\+/).waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('shows calls and the balance as they change, without a reload', async () => {
    const { token } = await gateway.person('live@example.com', { credits: 500 })
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn('live@example.com')
    await page.locator('.dot.on').waitFor()
    const made = await fetch(`${gateway.url}/api/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"name":"server"}',
    })
    const { secret } = (await made.json()) as { secret: string }
    const call = fetch(`${gateway.url}/v1/videos/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-video', prompt: 'waves [hold]' }),
    })
    await page.getByText('250 held by 1 running').waitFor()
    await page.locator('.status.running').waitFor()
    gateway.sandbox.release('waves')
    expect((await call).status).to.equal(200)
    await page.locator('.status.succeeded').waitFor()
    await holds(page, `document.querySelector('[data-testid=balance]').textContent === '250'`)
    await page.getByText('credits to spend').waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('shows the balance of the newest event, however late an older answer comes', async () => {
    const { id } = await gateway.person('overtaken@example.com', { credits: 500 })
    const { token } = await gateway.person('overtaker@example.com', { admin: true })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('overtaken@example.com')
    await open('/playground', 'Playground')
    await page.locator('.dot.on').waitFor()
    const late = { read: false, go: (): void => {}, shown: false }
    const held = new Promise<void>((resolve) => {
      late.go = resolve
    })
    // The end of a chat asks for the account: the answer stays on its way while credits arrive.
    await page.route(
      '**/api/account',
      async (route) => {
        const response = await route.fetch()
        late.read = true
        await held
        await route.fulfill({ response })
        late.shown = true
      },
      { times: 1 },
    )
    await page.getByLabel('Message').fill('Hello!')
    await page.getByRole('button', { name: 'Send' }).click()
    await until('the older answer to be read', () => late.read)
    const path = `${gateway.url}/api/operator/accounts/${publicId('account', id)}/grants`
    await post(path, token, { amount: 1000, origin: 'bonus' })
    await balanceIs(page, '1,499')
    late.go()
    await until('the older answer to arrive', () => late.shown)
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    expect(await page.getByTestId('balance').innerText()).to.equal('1,499')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('leads a user whose session has ended to sign in, and then back', async () => {
    const { id } = await gateway.person('away@example.com')
    const { page, signIn, close } = await visit(browser, gateway)
    await signIn('away@example.com')
    // Leave the page first: its own requests would notice the end of the session before the tested visit.
    await page.goto('about:blank')
    await gateway.db('sessions').where({ account_id: id }).delete()
    await page.goto(`${gateway.url}/calls?status=failed`)
    await page.getByText('Your session has ended').waitFor()
    await page.getByLabel('E-mail address').fill('away@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor()
    expect(page.url()).to.equal(`${gateway.url}/calls?status=failed`)
    await close()
  })

  it('asks for the password over the page where its session ends, and what was typed stays', async () => {
    const { id } = await gateway.person('ended@example.com')
    const { page, open, signIn, close } = await visit(browser, gateway)
    await signIn('ended@example.com')
    await open('/settings', 'Settings')
    await page.getByLabel('New address').fill('half-written@example.com')
    await gateway.db('sessions').where({ account_id: id }).delete()
    await page.getByRole('button', { name: 'Send me a test e-mail' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    expect(await dialog.getByLabel('E-mail address').inputValue()).to.equal('ended@example.com')
    await dialog.getByLabel('Password', { exact: true }).fill('wrong horse 1')
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByLabel('New address').inputValue()).to.equal('half-written@example.com')
    await page.getByRole('button', { name: 'Send me a test e-mail' }).click()
    await page.getByText('The e-mail was written to a file').waitFor()
    await gateway.db('sessions').where({ account_id: id }).delete()
    await page.getByRole('button', { name: 'Send me a test e-mail' }).click()
    await dialog.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await close()
  })

  it('redirects to no other site after a sign-in', async () => {
    await gateway.person('wary@example.com')
    const { page, close } = await visit(browser, gateway)
    for (const next of ['//evil.example/', 'https://evil.example/', '/\\evil.example']) {
      await page.goto(`${gateway.url}/sign-in?next=${encodeURIComponent(next)}`)
      await page.getByLabel('E-mail address').fill('wary@example.com')
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      expect(new URL(page.url()).origin).to.equal(gateway.url)
      await page.locator('.account summary').click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }
    await close()
  })

  it('keeps the session in the tab, or in the browser if that was chosen', async () => {
    await gateway.person('stay@example.com')
    const { page, signIn, close } = await visit(browser, gateway)
    await signIn('stay@example.com')
    const another = await page.context().newPage()
    await another.goto(`${gateway.url}/overview`)
    await another.getByRole('heading', { name: 'Sign in' }).waitFor()
    await another.getByLabel('E-mail address').fill('stay@example.com')
    await another.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await another.getByLabel('Stay signed in').check()
    await another.getByRole('button', { name: 'Sign in' }).click()
    await another.getByRole('heading', { name: 'Overview' }).waitFor()
    const third = await page.context().newPage()
    await third.goto(`${gateway.url}/overview`)
    await third.getByRole('heading', { name: 'Overview' }).waitFor()
    await close()
  })

  it('signs out nobody but the person who signs out, whoever has signed in in another tab', async () => {
    for (const email of ['alice@example.com', 'carol@example.com']) await gateway.person(email)
    const { page, open, close } = await visit(browser, gateway)
    await open('/sign-in', 'Sign in')
    const another = await page.context().newPage()
    await another.goto(`${gateway.url}/sign-in`)
    for (const [tab, email] of [
      [page, 'alice@example.com'],
      [another, 'carol@example.com'],
    ] as const) {
      await tab.getByLabel('E-mail address').fill(email)
      await tab.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await tab.getByLabel('Stay signed in').check()
      await tab.getByRole('button', { name: 'Sign in' }).click()
      await tab.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await another.reload()
    await another.getByRole('heading', { name: 'Overview' }).waitFor()
    await another.locator('.account summary').click()
    await another.getByText('carol@example.com').first().waitFor()
    await close()
  })

  it('lets an operator find an account, grant credits and suspend it, and shows what was done', async () => {
    await gateway.person('chief@example.com', { admin: true })
    const customer = await gateway.person('customer@example.com')
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn('chief@example.com')
    await page.getByRole('link', { name: 'Operator' }).click()
    await page.getByRole('link', { name: 'Accounts', exact: true }).click()
    await page.getByLabel('Find an account').fill('customer@')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('link', { name: customer.email }).click()
    const grant = page.locator('section', { has: page.getByRole('heading', { name: 'Grant credits' }) }).last()
    await grant.getByLabel('Amount').fill('750')
    await grant.getByLabel('Note').fill('welcome')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByText('Granted. The balance of customer@example.com is 750 credits.').waitFor()
    await page.getByRole('button', { name: 'Suspend', exact: true }).click()
    await page.getByRole('button', { name: 'Suspend account' }).click()
    await page.getByRole('button', { name: 'Activate', exact: true }).waitFor()
    const { status } = await fetch(`${gateway.url}/api/account`, {
      headers: { authorization: `Bearer ${customer.token}` },
    })
    expect(status).to.equal(401)
    await page.getByRole('link', { name: 'Audit' }).click()
    const rows = page.locator('tbody tr', { hasText: customer.email })
    await rows.first().waitFor()
    expect(await rows.locator('td:nth-child(3)').allInnerTexts()).to.deep.equal([
      'Suspended',
      'Granted credits',
      'Viewed an account',
    ])
    expect(await rows.nth(1).innerText())
      .to.contain('chief@example.com')
      .and.to.contain('welcome')
    expect(faults()).to.deep.equal([])
    await expectBooksToBalance(gateway.db)
    await close()
  })
})
