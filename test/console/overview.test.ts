import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Route } from 'playwright-core'
import { root } from '../../scripts/folders.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { aGrant } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import { until } from '../../scripts/harness/until.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { holds, seriousFaults, visit } from './support/visit.ts'
import { aCustomer } from './support/customer.ts'

describe('the overview', () => {
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

  it('loads at most 90 kB of JavaScript, gzipped, chart and all', async () => {
    await gateway.person('light@example.com')
    const { page, signIn, close } = await visit(browser, gateway)
    await signIn('light@example.com')
    await page.reload()
    await page.locator('.plot canvas').waitFor()
    const scripts = await page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => /console.*[.]js$/.test(name))`,
    )
    expect(scripts).not.to.deep.equal([])
    const sizes = scripts.map(
      (name) => gzipSync(readFileSync(join(root, 'dist/console', new URL(name).pathname))).length,
    )
    expect(sizes.reduce((sum, one) => sum + one, 0)).to.be.at.most(90_000)
    await close()
  })

  it("has the chart's numbers as a table, and says when credits run low or expire soon", async () => {
    const { secret } = await aCustomer(gateway, 'reader@example.com', 70)
    const { account_id: id } = (await findUserByEmail(gateway.db, 'reader@example.com'))!
    await aGrant(gateway.db, id, { amount: 5, days: 3 })
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    await aGrant(gateway.db, id, { amount: 7, days: 3 })
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn('reader@example.com')
    await page.getByTestId('low').getByText('Your balance is low: 42 credits.').waitFor()
    await page.getByTestId('low').getByText('about 7 days').waitFor()
    await page.getByTestId('expiring').getByText('7 credits expire soon').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.locator('.plot canvas').waitFor()
    await page.getByText('Day by day').click()
    const cells = page.getByRole('region', { name: 'Usage', exact: true }).locator('tbody td')
    await cells.first().waitFor()
    expect((await cells.allInnerTexts()).slice(1)).to.deep.equal(['sandbox-image', '1', '0', '40', '0', '0'])
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('shows credits, calls, errors, tokens and latency, by model or by key', async () => {
    const { secret, token } = await aCustomer(gateway, 'divided@example.com', 500)
    const { account_id: id } = (await findUserByEmail(gateway.db, 'divided@example.com'))!
    const { json } = await post(`${gateway.url}/api/keys`, token, { name: 'second' })
    const image = (key: string, prompt: string) =>
      post(`${gateway.url}/v1/images/generations`, key, { model: 'sandbox-image', prompt })
    await image(secret, 'a fox')
    await image(secret, 'a fox [status 500]')
    const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }
    const { usage } = (await post(`${gateway.url}/v1/chat/completions`, json.secret as string, chat)).json
    for (const [model, ms] of [
      ['sandbox-image', 6200],
      ['sandbox-chat', 900],
    ] as const)
      await gateway.db('calls').where({ model, account_id: id }).update({ latency_ms: ms })
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn('divided@example.com')
    await page.locator('.tile').filter({ hasText: 'Latency' }).getByText('900 ms').waitFor()
    await page.locator('.tile').filter({ hasText: 'Latency' }).getByText('95% within 6.2 s').waitFor()
    await page.getByText('1 call, refunded', { exact: true }).waitFor()
    const rows = (): Promise<string[][]> =>
      page.evaluate<string[][]>(
        `[...document.querySelectorAll('[data-testid=totals] tbody tr')].map((row) =>
          [...row.cells].map((cell) => cell.innerText))`,
      )
    const shows = (expected: string[][]): Promise<unknown> =>
      until(`the table is ${JSON.stringify(expected)}`, async () => {
        const found = await rows()
        return JSON.stringify(found) === JSON.stringify(expected)
      })
    const tokens = String(usage.prompt_tokens + usage.completion_tokens)
    const cost = String(usage.credits)
    const images = ['40', '2', '50.0%', '–', '6.2 s', '6.2 s']
    const chats = [cost, '1', '0%', tokens, '900 ms', '900 ms']
    await shows([
      ['sandbox-image', ...images],
      ['sandbox-chat', ...chats],
    ])
    const callsOf = async (name: string): Promise<Record<string, string>> => {
      const link = page.getByTestId('totals').getByRole('link', { name })
      return Object.fromEntries(new URL((await link.getAttribute('href'))!, gateway.url).searchParams)
    }
    const { model, from, to } = await callsOf('sandbox-image')
    expect({ model, days: (Date.parse(to!) - Date.parse(from!)) / 86_400_000 }).to.deep.equal({
      model: 'sandbox-image',
      days: 29,
    })
    await page.getByLabel('Group by').selectOption('key')
    const hint = (key: string): string => `${key.slice(0, 7)}…${key.slice(-4)}`
    await shows([
      [`test (${hint(secret)})`, ...images],
      [`second (${hint(json.secret as string)})`, ...chats],
    ])
    await page.locator('.chart figcaption').getByText('second').waitFor()
    expect(page.url()).to.contain('by=key')
    expect((await callsOf('second'))['keyId']).to.equal(json.key.id)
    await page.getByTestId('totals').getByRole('link', { name: 'second' }).click()
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor()
    const listed = page.getByRole('region', { name: 'Calls' }).locator('tbody tr')
    await until('one call is listed', async () => (await listed.count()) === 1)
    expect(await listed.locator('td[data-label=Tokens]').innerText()).to.equal(tokens)
    await page.setViewportSize({ width: 360, height: 740 })
    await listed.locator('td[data-label=Tokens]').waitFor({ state: 'hidden' })
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('asks for each thing once, and draws its chart once, though the latency comes later', async () => {
    const { secret } = await aCustomer(gateway, 'once@example.com', 500)
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, faults, close } = await visit(browser, gateway)
    await signIn('once@example.com')
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/^\/(?:api|console)\//.test(pathname)) asked.push(pathname)
    })
    await page.addInitScript(`
      window.charts = 0
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of addedNodes)
            if (node.matches?.('.plot > canvas') || node.querySelector?.('.plot > canvas')) window.charts += 1
      }).observe(document, { childList: true, subtree: true })`)
    let hold: (route: Route) => void
    const held = new Promise<Route>((resolve) => {
      hold = resolve
    })
    // What the page asked for before it is loaded anew is not counted.
    await page.locator('.plot canvas').waitFor()
    await page.route('**/api/usage/latency*', (route) => hold(route))
    asked.length = 0
    const [, latency] = await Promise.all([page.reload(), held])
    await page.locator('.plot canvas').waitFor()
    await latency.continue()
    await page.locator('.tile').filter({ hasText: 'Latency' }).getByText('95% within').waitFor()
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
    expect(await page.evaluate('window.charts')).to.equal(1)
    expect(asked.toSorted()).to.deep.equal([...new Set(asked)].toSorted())
    expect(asked).to.include.members(['/api/usage', '/api/usage/latency', '/api/calls', '/api/account', '/api/keys'])
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('leaves no number alone in a row but the balance of a phone', async () => {
    await gateway.person('rows@example.com')
    const { page, signIn, close } = await visit(browser, gateway, { viewport: { width: 1440, height: 900 } })
    await signIn('rows@example.com')
    await page.locator('.tile').filter({ hasText: 'Latency' }).getByText('no call has succeeded').waitFor()
    const rows = `(() => {
      const tops = [...document.querySelectorAll('.tile')].map((tile) => Math.round(tile.getBoundingClientRect().top))
      return [...new Set(tops)].map((top) => tops.filter((one) => one === top).length).join(' ')
    })()`
    for (const [width, expected] of [
      [1440, '5'],
      [834, '2 3'],
      [360, '1 2 2'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await holds(page, `${rows} === '${expected}'`)
    }
    await close()
  })
})
