import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { createKey } from '../../src/shared/identity/api-keys.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { SCRIPT, liveIn, settled } from './support/every-page.ts'
import { fitsTheScreen, holds, seriousFaults, visit } from './support/visit.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'

describe('the pages of the console', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  let call: string
  let address: (path: string) => string
  let token: string
  const email = 'pages@example.com'
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway()
    ;({ token, call, address } = await liveIn(gateway, email))
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  it('show what users typed as text, whatever it is', async () => {
    const { page, open, signIn, faults, close } = await visit(browser, gateway)
    await signIn(email)
    for (const [path, heading, seen] of [
      ['/calls', 'Calls', SCRIPT],
      ['/keys', 'Keys', SCRIPT.slice(0, 60)],
      ['/credits', 'Credits', SCRIPT],
      ['/operator/accounts/:account', 'Account', SCRIPT],
    ] as const) {
      await open(address(path), heading)
      await page.getByText(seen).first().waitFor()
      await holds(page, `document.title === '${heading} · Tollgate'`)
    }
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('show the debt of an account to its owner and to operators, until it is repaid', async () => {
    const person = await gateway.person('owing@example.com', { credits: 1250 })
    const { id: keyId } = await createKey(gateway.db, person.id, 'owing')
    const calls = verbs(gateway.db)
    await calls.settle(await opened(calls, { id: person.id, keyId }, 1250), 'image', aResult(2500))
    const { page, open, signIn, faults, close } = await visit(browser, gateway)
    await signIn(person.email)
    await page.getByText('1,250 credits owed').waitFor()
    await open('/credits', 'Credits')
    await page.getByTestId('debt').getByText('You owe 1,250 credits.').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    const file = `${gateway.url}/api/operator/accounts/${publicId('account', person.id)}`
    await post(`${file}/grants`, token, { amount: 250, origin: 'bonus' })
    await page.getByText('You owe 1,000 credits.').waitFor()
    await page.getByText('Debt repaid').first().waitFor()
    const operator = await visit(browser, gateway)
    await operator.signIn(email)
    await operator.open(`/operator/accounts/${publicId('account', person.id)}`, 'Account')
    await operator.page.getByTestId('account-debt').getByText('1,000 credits').waitFor()
    await post(`${file}/grants`, token, { amount: 1001, origin: 'bonus' })
    await page.getByTestId('debt').waitFor({ state: 'detached' })
    expect([...faults(), ...operator.faults()]).to.deep.equal([])
    await operator.close()
    await close()
  })

  it('say when a page is for operators, and when a call does not exist', async () => {
    await gateway.person('plain@example.com')
    const { page, open, signIn, close } = await visit(browser, gateway)
    await signIn('plain@example.com')
    expect(await page.getByRole('link', { name: 'Operator' }).count()).to.equal(0)
    await open('/operator', 'Operator')
    await page.getByText('This page is for operators').waitFor()
    await open(`/calls/${call}`, 'Calls')
    await page.getByText('There is no such call in your account').waitFor()
    await close()
  })

  it('work with the keyboard alone: skip link, drawer, and back to the row', async () => {
    const { page, open, signIn, close } = await visit(browser, gateway)
    await signIn(email)
    await open('/calls', 'Calls')
    await settled(page)
    await page.keyboard.press('Tab')
    await holds(page, `document.activeElement.textContent === 'Skip to content'`)
    await page.keyboard.press('Enter')
    const row = page.locator('tbody a').first()
    const focused = (): Promise<string | null> => page.evaluate('document.activeElement.getAttribute("href")')
    const first = await row.getAttribute('href')
    await until('the first call has the focus', async () => {
      await page.keyboard.press('Tab')
      return (await focused()) === first
    })
    await page.keyboard.press('Enter')
    await page.getByTestId('trail').waitFor()
    await holds(page, `document.activeElement.closest('dialog') !== null`)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await until('the row has the focus again', async () => (await focused()) === first)
    await close()
  })

  it('keep the filters of the calls in the address, for links and the back button', async () => {
    const { page, open, signIn, close } = await visit(browser, gateway)
    await signIn(email)
    await open('/calls', 'Calls')
    await settled(page)
    await page.getByLabel('Status').selectOption('failed')
    await until('one call is left', async () => (await page.locator('tbody tr').count()) === 1)
    await page.waitForURL(`${gateway.url}/calls?status=failed`)
    await page.reload()
    await page.locator('tbody tr').waitFor()
    expect(await page.getByLabel('Status').inputValue()).to.equal('failed')
    await page.goBack()
    await until('all calls are back', async () => (await page.locator('tbody tr').count()) === 3)
    await close()
  })

  it('break a long address at its @, never within a word that fits, on a phone', async () => {
    const long = 'katherine.coleman.goble@computing.langley.example.com'
    const { id } = await gateway.person(long, { admin: true })
    const { page, signIn, open, close } = await visit(browser, gateway, { viewport: { width: 360, height: 740 } })
    await signIn(long)
    await open(`/operator/accounts/${publicId('account', id)}`, 'Account')
    const heading = page.getByRole('heading', { level: 2, name: long })
    await heading.waitFor()
    const lines = await page.evaluate<string[]>(`(() => {
      const { childNodes } = [...document.querySelectorAll('h2')].find(({ textContent }) => textContent === '${long}')
      const texts = [...childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      return texts.map((text) => {
        const range = document.createRange()
        range.selectNodeContents(text)
        return text.data + ' ' + new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
      })
    })()`)
    expect(lines).to.deep.equal(['katherine.coleman.goble 1', '@computing.langley.example.com 1'])
    await fitsTheScreen(page)
    await close()
  })

  it('take link colours and the look of a busy button from their own style sheet', async () => {
    const { page, open, close } = await visit(browser, gateway, { colorScheme: 'light' })
    await open('/sign-in', 'Sign in')
    const paint = (colour: string): string =>
      `(() => { const one = document.createElement('i'); one.style.color = ${colour}; document.body.append(one)
        return getComputedStyle(one).color })()`
    await holds(
      page,
      `getComputedStyle(document.querySelector('a[href="/forgot"]')).color === ${paint("'var(--accent)'")}`,
    )
    const spins = `(() => { const button = document.querySelector('button[type=submit]')
      button.setAttribute('aria-busy', 'true')
      const { content, display, backgroundImage } = getComputedStyle(button, '::before')
      return content !== 'none' && display !== 'none' && backgroundImage !== 'none' })()`
    expect(await page.evaluate<boolean>(spins)).to.equal(false)
    await close()
  })

  it('say that the server is unreachable, and retry on request', async () => {
    const { page, open, signIn, close } = await visit(browser, gateway)
    await signIn(email)
    await open('/models', 'Models')
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('tbody tr').waitFor()
    await until('no alert is left', async () => (await page.getByRole('alert').count()) === 0)
    await close()
  })
})
