import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { findUserByEmail } from '../../src/shared/accounts/users.ts'
import { newId } from '../../src/shared/ids.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import { requestMail } from '../../src/shared/mail/mails.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { get, post, until } from '../../scripts/harness/http.ts'
import { PIXEL } from '../workers/upstreams/sandbox-upstreams.ts'
import { startWorld } from '../../scripts/harness/console-world.ts'
import type { World } from '../../scripts/harness/console-world.ts'
import { visit } from './support/visit.ts'

const PICTURE = Buffer.from(PIXEL, 'base64')

/** The lines of a CSV file (RFC 4180) as cells. */
function cellsOf(text: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (lines.at(-1)!.length === 0 && end === '' && plain === '') break
    lines.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!)
    if (end === '\r\n') lines.push([])
    if (end === '') break
  }
  return lines
}

async function download(page: Page): Promise<string[][]> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(file.suggestedFilename()).to.equal('tollgate-ledger.csv')
  return cellsOf(readFileSync(await file.path(), 'utf8'))
}

describe('errands in the console', () => {
  let world: World
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    world = await startWorld()
  })
  after(async () => {
    await closeBrowser()
    await world?.stop()
  })

  /** Somebody with credits and a key, as the API gives them. */
  async function aCustomer(email: string, credits: number): Promise<{ token: string; secret: string }> {
    const { token } = await world.person(email, { credits })
    const { json } = await post(`${world.url}/api/keys`, token, { name: 'test' })
    return { token, secret: json.secret as string }
  }

  it('edits a picture of this computer in the playground', async () => {
    const { secret } = await aCustomer('painter@example.com', 100)
    const { page, signIn, open, faults, close } = await visit(browser, world)
    await signIn('painter@example.com')
    await open('/playground/image', 'Playground')
    await page.getByRole('button', { name: 'Paste a key' }).click()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Use key' }).click()
    await page.getByLabel('Prompt').fill('the fox, in snow')
    await page.getByText('Image to edit (optional)').click()
    const choose = (buffer: Buffer): Promise<void> =>
      page.getByLabel('Or upload a file').setInputFiles({ name: 'fox.png', mimeType: 'image/png', buffer })
    await choose(Buffer.alloc(700_001))
    await page.getByText('choose an image of at most 700 kB').waitFor()
    await choose(PICTURE)
    await page.getByAltText('The chosen image').waitFor()
    await page.getByRole('button', { name: 'Generate from image' }).click()
    await until('the edited picture shows', () =>
      page.evaluate<boolean>(`document.querySelector('.media img')?.naturalWidth > 1`),
    )
    expect(await page.getByTestId('receipt').innerText()).to.match(/^Cost 40 credits · .* balance 60/)
    const [sent] = world.sandbox.journal('the fox, in snow')
    expect(sent!.path).to.equal('/v1/images/edits')
    expect((sent!.body as { files: { bytes: number }[] }).files.map(({ bytes }) => bytes)).to.deep.equal([
      PICTURE.length,
    ])
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Generate image' }).waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('offers the durations and resolutions of a model, and sends what was chosen', async () => {
    const { secret } = await aCustomer('director@example.com', 1000)
    const { page, signIn, open, faults, close } = await visit(browser, world)
    await signIn('director@example.com')
    await open('/playground/video?model=sized-video', 'Playground')
    await page.getByRole('button', { name: 'Paste a key' }).click()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Use key' }).click()
    const [resolution, seconds] = [page.getByLabel('Resolution'), page.getByLabel('Seconds')]
    const offered = async () => [
      await resolution.locator('option').allInnerTexts(),
      await seconds.locator('option').allInnerTexts(),
    ]
    expect(await offered()).to.deep.equal([
      ['Default (720p)', '720p', '1080p'],
      ['Default (4)', '4', '8'],
    ])
    await resolution.selectOption('1080p')
    await seconds.selectOption('8')
    await page.getByLabel('Model').selectOption('sandbox-video')
    await until('the other model is offered', async () => (await offered())[0]!.includes('480p'))
    expect((await offered())[1]).to.deep.equal(['Default', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
    expect([await resolution.inputValue(), await seconds.inputValue()]).to.deep.equal(['', '8'])
    await page.getByLabel('Prompt').fill('waves for eight seconds')
    await page.getByRole('button', { name: 'Generate video' }).click()
    await page.getByTestId('receipt').waitFor()
    const [sent] = world.sandbox.journal('waves for eight seconds')
    expect(JSON.stringify(sent!.body)).to.include('"seconds":"8"').and.not.to.include('size')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it("tells the chart's numbers as a table", async () => {
    const { secret } = await aCustomer('reader@example.com', 100)
    await post(`${world.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, signIn, faults, close } = await visit(browser, world)
    await signIn('reader@example.com')
    await page.locator('.plot canvas').waitFor()
    await page.getByText('As a table').click()
    const cells = page.getByRole('region', { name: 'Usage' }).locator('tbody td')
    await cells.first().waitFor()
    expect((await cells.allInnerTexts()).slice(1)).to.deep.equal(['sandbox-image', '1', '0', '40', '0', '0'])
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('lets an operator send a mail again that was given up', async () => {
    const email = 'lost@example.com'
    await world.person(email)
    await world.person('postmaster@example.com', { admin: true })
    await world.link(email)
    const id = newId('mail')
    await requestMail(world.db, { id, kind: 'reset', recipient: email, accountId: null })
    const given = { status: 'dead', tries: 8, note: '<b>451</b> try later', finished_at: world.db.fn.now() }
    await world.db('mails').where({ id }).update(given)
    const { page, signIn, open, faults, close } = await visit(browser, world)
    await signIn('postmaster@example.com')
    await open('/operator/mails', 'Operator')
    const row = page.locator('tbody tr', { hasText: email })
    expect(await row.innerText()).to.contain('<b>451</b> try later')
    await page.getByRole('button', { name: `Retry the e-mail to ${email}` }).click()
    await row.waitFor({ state: 'detached' })
    expect(await world.link(email, 2)).to.contain('/reset#token=')
    await page.getByRole('link', { name: 'Audit' }).click()
    const action = page
      .locator('tbody tr', { hasText: 'Retried an e-mail' })
      .filter({ hasText: 'postmaster@example.com' })
    expect(await action.innerText()).to.contain('postmaster@example.com')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('gives the whole ledger as a file: every entry, numbers as numbers, no text that a spreadsheet would run', async () => {
    const email = 'books@example.com'
    const { token, secret } = await aCustomer(email, 500)
    const { id: accountId } = (await findUserByEmail(world.db, email))!
    const notes = [
      '=HYPERLINK("http://evil.example","click")',
      '+1+1',
      '-2+3',
      '@SUM(A1)',
      '＝1+1',
      'say "hi", twice',
      'plain',
    ]
    // More than the page of one request holds.
    for (let count = 0; count < 120; count++) {
      const note = notes[count] ?? null
      await world.db.transaction((trx) =>
        grant(trx, { id: newId('grant'), accountId, origin: 'bonus', amount: count + 1, note }),
      )
    }
    const body = { model: 'dear-chat', messages: [{ role: 'user', content: '[tokens 3] hi' }], max_tokens: 50 }
    await post(`${world.url}/v1/chat/completions`, secret, body)
    const { page, signIn, open, faults, close } = await visit(browser, world)
    await signIn(email)
    await open('/credits', 'Credits')
    const [header, ...rows] = await download(page)
    expect(header!.join()).to.equal('createdAt,kind,amount,balanceAfter,origin,callId,grantId,note,id')

    const { data: first, nextCursor } = (await get(`${world.url}/api/ledger?limit=100`, token)).json
    const { data: rest } = (await get(`${world.url}/api/ledger?limit=100&cursor=${nextCursor}`, token)).json
    const cell = (value: string | number | null): string =>
      typeof value === 'string' && /^[=+\-@＝]/.test(value) ? `'${value}` : String(value ?? '')
    const wanted = [...first, ...rest].map((entry: Record<string, string | number | null>) =>
      header!.map((column) => cell(entry[column]!)),
    )
    expect(rows).to.deep.equal(wanted)
    expect(rows.map(([, kind]) => kind)).to.include.members(['charge', 'settlement', 'grant'])
    const amounts = rows.map((row) => Number(row[2]))
    expect(amounts.reduce((sum, one) => sum + one, 0)).to.equal(Number(rows[0]![3]))
    for (const row of rows) {
      for (const text of row.filter((one) => /^[=+\-@＝]/.test(one))) expect(text).to.match(/^-\d+$/)
    }
    expect(rows.map((row) => row[7])).to.include.members(['\'=HYPERLINK("http://evil.example","click")', "'-2+3"])
    expect(faults()).to.deep.equal([])
    await close()
  })
})
