import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { balanceIs } from './support/shop.ts'

describe('sessions and calls in the console', () => {
  const gateway = consoleWithPages()

  const heading = (tab: Page, name: string) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor()

  /** Another tab of the same browser. */
  async function another(page: Page, path: string): Promise<Page> {
    const tab = await page.context().newPage()
    await tab.goto(`${gateway.url}${path}`)
    return tab
  }

  async function signOut(tab: Page): Promise<void> {
    await tab.locator('.account summary').click()
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await heading(tab, 'Sign in')
  }

  it('shows calls and the balance as they change, without a reload', async () => {
    const { secret } = await gateway.customer('live@example.com', 500)
    const { page, open } = await gateway.signedIn('live@example.com')
    await open('/overview', 'Overview')
    await page.locator('.dot.on').waitFor()
    const body = { model: 'sandbox-video', prompt: 'waves [hold]' }
    const call = post(`${gateway.url}/v1/videos/generations`, secret, body)
    await page.getByText('250 held by 1 running').waitFor()
    await page.locator('.status.running').waitFor()
    gateway.sandbox.release('waves')
    expect((await call).status).to.equal(200)
    await page.locator('.status.succeeded').waitFor()
    await balanceIs(page, '250')
    await page.getByText('credits to spend').waitFor()
  })

  it('shows the balance of the newest event, however late an older answer comes', async () => {
    const { id } = await gateway.person('overtaken@example.com', { credits: 500 })
    const { token } = await gateway.person('overtaker@example.com', { admin: true })
    const { page, open } = await gateway.signedIn('overtaken@example.com')
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
  })

  it('leads a user whose session has ended to sign in and back, and who is signed in on at once', async () => {
    const email = 'away@example.com'
    const { id } = await gateway.person(email)
    const { page, allow } = await gateway.signedIn(email)
    await gateway.db('sessions').where({ account_id: id }).delete()
    await page.goto(`${gateway.url}/calls?status=failed`)
    await page.getByText('Your session has ended').waitFor()
    await fillSignIn({ page }, email)
    await heading(page, 'Calls')
    expect(page.url()).to.equal(`${gateway.url}/calls?status=failed`)
    await page.goto(`${gateway.url}/sign-in?next=${encodeURIComponent('/keys')}`)
    await heading(page, 'Keys')
    allow(/status of 401/)
  })

  it('asks for the password over the page where its session ends, and what was typed stays', async () => {
    const email = 'ended@example.com'
    const { id } = await gateway.person(email)
    const { page, open, allow } = await gateway.signedIn(email)
    await open('/settings', 'Settings')
    await page.getByLabel('New address').fill('half-written@example.com')
    await gateway.db('sessions').where({ account_id: id }).delete()
    await page.getByRole('button', { name: 'Send me a test e-mail' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    expect(await dialog.getByLabel('E-mail address').inputValue()).to.equal(email)
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
    await heading(page, 'Sign in')
    allow(/status of 401/)
  })

  it('keeps the session in the tab, or in the browser if that was chosen', async () => {
    const email = 'stay@example.com'
    await gateway.person(email)
    const { page, open } = await gateway.visit()
    await open('/sign-in', 'Sign in')
    await fillSignIn({ page }, email)
    await heading(page, 'Overview')
    const second = await another(page, '/overview')
    await heading(second, 'Sign in')
    await fillSignIn({ page: second }, email, true)
    await heading(second, 'Overview')
    await heading(await another(page, '/overview'), 'Overview')
  })

  it('signs out nobody but the person who signs out, also if somebody else has signed in in another tab', async () => {
    const [alice, carol] = ['alice@example.com', 'carol@example.com']
    for (const email of [alice, carol]) await gateway.person(email)
    const { page, open } = await gateway.visit()
    await open('/sign-in', 'Sign in')
    const second = await another(page, '/sign-in')
    for (const [tab, email] of [
      [page, alice],
      [second, carol],
    ] as const) {
      await fillSignIn({ page: tab }, email, true)
      await heading(tab, 'Overview')
    }
    await signOut(page)
    await second.reload()
    await heading(second, 'Overview')
    await second.locator('.account summary').click()
    await second.getByText(carol).first().waitFor()
  })

  it('has one stream of events for all tabs, which another tab opens when the first is closed', async () => {
    const person = await gateway.person('tabs@example.com', { credits: 500 })
    const operator = await gateway.person('operator-of-tabs@example.com', { admin: true })
    const path = `${gateway.url}/api/operator/accounts/${publicId('account', person.id)}/grants`
    const grant = () => post(path, operator.token, { amount: 100, origin: 'bonus' })
    const { page, open } = await gateway.visit()
    await open('/sign-in', 'Sign in')
    let streams = 0
    page.context().on('request', (request) => {
      if (request.url().endsWith('/api/events')) streams += 1
    })
    await fillSignIn({ page }, person.email, true)
    await balanceIs(page, '500')
    const tabs: Page[] = []
    for (let nth = 0; nth < 3; nth++) {
      const tab = await another(page, '/overview')
      await balanceIs(tab, '500')
      await tab.locator('.dot.on').waitFor()
      tabs.push(tab)
    }
    expect(streams, 'streams of four tabs').to.equal(1)
    await grant()
    for (const tab of [page, ...tabs]) await balanceIs(tab, '600')
    await page.close()
    await until('another tab has opened the stream', () => streams === 2)
    await grant()
    for (const tab of tabs) await balanceIs(tab, '700')
    expect(streams, 'streams after the first tab was closed').to.equal(2)
  })
})
