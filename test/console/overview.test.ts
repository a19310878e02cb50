import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { root } from '../../scripts/folders.ts'
import { aGrant } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { withinOneDay } from '../support/one-day.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, seriousFaults } from './support/visit.ts'

describe('the overview', () => {
  const gateway = consoleWithPages()
  beforeEach(withinOneDay)

  it('asks at most 20 times, and loads at most 110 kB of JavaScript, gzipped, chart and all', async () => {
    const { page, open } = await gateway.signedIn('light@example.com')
    await open('/overview', 'Overview')
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(request.url()))
    await page.reload()
    await page.locator('.plot canvas').waitFor()
    expect(asked.size, [...asked].join(' ')).to.be.at.most(20)
    const scripts = await page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => /console.*[.]js$/.test(name))`,
    )
    expect(scripts).not.to.deep.equal([])
    const sizes = scripts.map(
      (name) => gzipSync(readFileSync(join(root, 'dist/console', new URL(name).pathname))).length,
    )
    expect(sizes.reduce((sum, one) => sum + one, 0)).to.be.at.most(110_000)
  })

  it("has the chart's numbers as a table, and says when credits run low or expire soon", async () => {
    const { id, secret } = await gateway.customer('reader@example.com', 70)
    await aGrant(gateway.db, id, { amount: 5, days: 3 })
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    await aGrant(gateway.db, id, { amount: 7, days: 3 })
    const { page, open } = await gateway.signedIn('reader@example.com')
    await open('/overview', 'Overview')
    await page.getByTestId('low').getByText('Your balance is low: 42 credits.').waitFor()
    await page.getByTestId('low').getByText('about 7 days').waitFor()
    await page.getByTestId('expiring').getByText('7 credits expire soon').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.locator('.plot canvas').waitFor()
    await page.getByText('Day by day').click()
    const cells = page.getByRole('region', { name: 'Usage', exact: true }).locator('tbody td')
    await cells.first().waitFor()
    expect((await cells.allInnerTexts()).slice(1)).to.deep.equal(['sandbox-image', '1', '0', '40', '0', '0'])
  })

  it('shows credits, calls, errors, tokens and latency, by model or by key', async () => {
    const { id, secret, token } = await gateway.customer('divided@example.com', 500)
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
    const { page, open } = await gateway.signedIn('divided@example.com')
    await open('/overview', 'Overview')
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
    await page.setViewportSize(PHONE)
    await listed.locator('td[data-label=Tokens]').waitFor({ state: 'hidden' })
  })

  it('shows the total of a day, and leads from it to its calls', async () => {
    const { secret } = await gateway.customer('daily@example.com', 100)
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, open } = await gateway.signedIn('daily@example.com')
    await open('/overview', 'Overview')
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
  })
})
