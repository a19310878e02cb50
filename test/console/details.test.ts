import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { publicId } from '../../src/shared/platform/ids.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { withinOneDay } from '../support/one-day.ts'
import { holds, seriousFaults, visit } from './support/visit.ts'
import { aCustomer } from './support/customer.ts'

const CALLER = 'caller@example.com'

describe('the pages of the console', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  let secret: string
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway()
    secret = (await aCustomer(gateway, CALLER, 1000)).secret
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  it('show first steps until a call has succeeded, and count a refused call as received', async () => {
    const email = 'beginner@example.com'
    const beginner = await aCustomer(gateway, email, 100)
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await post(`${gateway.url}/v1/images/generations`, beginner.secret, { model: 'no-such-model', prompt: 'a fox' })
    await signIn(email)
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
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('return to where a call was opened, and do not open it again', async () => {
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, open, close } = await visit(browser, gateway)
    await signIn(CALLER)
    await page.getByRole('region', { name: 'Calls' }).locator('tbody tr a').first().click()
    await page.getByRole('dialog', { name: 'Call' }).waitFor()
    const address = page.url()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await page.getByRole('dialog').count()).to.equal(0)
    // Opened by its address there is no page to return to, so it is the list.
    await open(new URL(address).pathname, 'Calls')
    await page.getByRole('button', { name: 'Close' }).click()
    await until('the list is shown', () => page.url().endsWith('/calls'))
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await close()
  })

  it('show the answer of a chat in whichever dialect it was asked, until it is no longer kept', async () => {
    const email = 'agent@example.com'
    const agent = await aCustomer(gateway, email, 10_000)
    const messages = [{ role: 'user', content: '[answer **well** yes]' }]
    const tool = { name: 'look', input_schema: { type: 'object' } }
    const asked = { model: 'sandbox-chat', max_tokens: 100 }
    const calls = [
      { path: '/v1/chat/completions', body: { ...asked, messages }, api: 'Chat Completions', said: 'well yes' },
      { path: '/v1/messages', body: { ...asked, messages }, api: 'Messages', said: 'well yes' },
      {
        path: '/v1/messages',
        body: { ...asked, messages: [{ role: 'user', content: '[tool]' }], tools: [tool] },
        api: 'Messages',
        said: 'Calls the tool look',
      },
    ]
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn(email)
    const dialog = page.getByRole('dialog', { name: 'Call' })
    const ids: string[] = []
    for (const { path, body, api, said } of calls) {
      const reply = await post(`${gateway.url}${path}`, agent.secret, body)
      expect(reply.status, reply.text).to.equal(200)
      ids.push(reply.headers.get('x-call-id')!)
      await open(`/calls/${ids.at(-1)}`, 'Calls')
      await dialog.getByText(api, { exact: true }).waitFor()
      await dialog.getByText(`${gateway.url}${path}`).waitFor()
      expect(await dialog.getByTestId('answer').count()).to.equal(0)
      await dialog.locator('summary', { hasText: 'Answer' }).click()
      await dialog.getByTestId('answer').getByText(said.split(' ').at(-1)!).first().waitFor()
      expect((await dialog.getByTestId('answer').innerText()).replaceAll(/\s+/g, ' ')).to.contain(said)
      expect(await seriousFaults(page)).to.deep.equal([])
    }
    await open('/calls?dialect=chat', 'Calls')
    await until('one call is listed', async () => (await page.locator('tbody tr').count()) === 1)
    await gateway.db('call_results').update({ expires_at: gateway.db.fn.now() })
    await page.reload()
    await open(`/calls/${ids[1]}`, 'Calls')
    await dialog.locator('summary', { hasText: 'Answer' }).click()
    await dialog.getByText('The answer is no longer kept.').waitFor()
    expect(faults(/status of 410/)).to.deep.equal([])
    await close()
  })

  it("show a new key's secret until its own button is pressed", async () => {
    const { page, signIn, open, close } = await visit(browser, gateway)
    await signIn(CALLER)
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
    await close()
  })

  it('describe a fault beside its field, with its label, and focus the field', async () => {
    const { page, signIn, open, close } = await visit(browser, gateway)
    await signIn(CALLER)
    await open('/settings', 'Settings')
    const picture = page.getByLabel('Picture')
    await picture.fill('http://example.com/me.png')
    await page.getByRole('button', { name: 'Save' }).click()
    const fault = page.locator('.fault')
    await fault.waitFor()
    expect(await fault.innerText()).to.match(/^Picture must /)
    expect(await picture.getAttribute('aria-describedby')).to.contain(await fault.getAttribute('id'))
    await holds(page, `document.activeElement.name === 'avatarUrl'`)
    await close()
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
    const { page, signIn, open, close } = await visit(browser, gateway, {
      timezoneId: 'America/Los_Angeles',
      locale: 'en-US',
    })
    await signIn(email)
    await open('/credits', 'Credits')
    await page.getByText(`Dec 31, ${expiresAt.slice(0, 4)} UTC`).waitFor()
    await close()
  })

  it('have a link home on a phone', async () => {
    const { page, signIn, close } = await visit(browser, gateway, { viewport: { width: 360, height: 740 } })
    await signIn(CALLER)
    await page.getByRole('link', { name: 'Tollgate' }).waitFor()
    await close()
  })

  it('continue an answer while other pages are open, and focus the message field after Stop', async () => {
    const { page, signIn, open, close } = await visit(browser, gateway)
    await signIn(CALLER)
    await open('/playground', 'Playground')
    const code = async (): Promise<string> => {
      await page.getByRole('button', { name: 'As code' }).click()
      const text = await page.getByRole('dialog', { name: 'As code' }).innerText()
      await page.keyboard.press('Escape')
      return text
    }
    expect(await code()).to.contain('Your message')
    await page.getByRole('button', { name: 'Paste a key' }).click()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Use key' }).click()
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
    await close()
  })

  it('find models by words and kind, and give each a page', async () => {
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn(CALLER)
    await open('/models', 'Models')
    await page.getByLabel('Search').fill('sandbox')
    await page.getByLabel('Kind').selectOption('video')
    await until('only videos are listed', async () => {
      const kinds = await page.locator('.models .kind').allInnerTexts()
      return kinds.length > 0 && kinds.every((kind) => kind === 'Video')
    })
    await page.getByLabel('Search').fill('there is no such word')
    await page.getByText('No matching models').waitFor()
    await open('/models/sandbox-chat', 'sandbox-chat')
    await page.getByText('/v1/chat/completions').waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('keep pictures together in a gallery, which leads to their calls', async () => {
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn(CALLER)
    await open('/gallery', 'Gallery')
    await holds(page, `document.querySelector('.gallery img')?.naturalWidth > 1`)
    await page.locator('.gallery li a[href^="/calls/"]').first().click()
    await page.getByTestId('trail').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { level: 1, name: 'Gallery' }).waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('name the devices of sessions, and sign out everywhere else', async () => {
    const email = 'traveller@example.com'
    const { token } = await gateway.person(email, {})
    const { page, signIn, open, close } = await visit(browser, gateway, {
      userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
    await signIn(email)
    await open('/settings', 'Settings')
    await page.getByText('Firefox on Windows').waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await until('one session is left', async () => (await page.locator('.sessions li').count()) === 1)
    expect((await get(`${gateway.url}/api/auth/me`, token)).status).to.equal(401)
    await close()
  })

  it('change the address of an account by the mailed link, and delete the account, saying what is lost', async () => {
    const email = 'mover@example.com'
    const next = 'moved@example.com'
    await gateway.person(email, { credits: 1200 })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn(email)
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
    expect(faults(/status of 4(00|09)/)).to.deep.equal([])
    await close()
  })

  it('tell the total of a day, and lead from it to its calls', async () => {
    await withinOneDay()
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, close } = await visit(browser, gateway)
    await signIn(CALLER)
    const today = new Date().toISOString().slice(0, 10)
    await page.getByLabel('Show').selectOption('calls')
    await page.getByRole('heading', { name: 'Calls per day (UTC)' }).waitFor()
    const plot = page.locator('.plot canvas')
    const overToday = { x: 0, y: 0 }
    // The page may still move while its parts arrive.
    await until('the calls of today to be counted', async () => {
      const { x, y, width, height } = (await plot.boundingBox())!
      Object.assign(overToday, { x: x + width - 25, y: y + height / 2 })
      await page.mouse.move(overToday.x, y - 20)
      await page.mouse.move(overToday.x, overToday.y)
      return /\(UTC\): [1-9]/.test(await page.locator('figcaption strong').innerText())
    })
    await page.locator('.plot.chosen').waitFor()
    await page.mouse.click(overToday.x, overToday.y)
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor()
    expect(new URL(page.url()).search).to.equal(`?from=${today}&to=${today}`)
    await close()
  })
})
