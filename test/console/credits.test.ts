import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { visit } from './support/visit.ts'
import { aCustomer } from './support/customer.ts'

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

describe('the page of credits', () => {
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

  it('downloads the whole ledger: every entry, numbers as numbers, no text that a spreadsheet would run', async () => {
    const email = 'books@example.com'
    const { token, secret } = await aCustomer(gateway, email, 500)
    const { account_id: accountId } = (await findUserByEmail(gateway.db, email))!
    const notes = [
      '=HYPERLINK("http://evil.example","click")',
      '+1+1',
      '-2+3',
      '@SUM(A1)',
      '＝1+1',
      'say "hi", twice',
      'plain',
    ]
    // More than fit on one page of the API.
    for (let count = 0; count < 120; count++) {
      const note = notes[count] ?? null
      await gateway.db.transaction((trx) =>
        grant(trx, { id: newId('grant'), accountId, origin: 'bonus', amount: count + 1, note }),
      )
    }
    const body = { model: 'dear-chat', messages: [{ role: 'user', content: '[tokens 3] hi' }], max_tokens: 50 }
    await post(`${gateway.url}/v1/chat/completions`, secret, body)
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn(email)
    await open('/credits', 'Credits')
    const [marked, ...rows] = (await download(page)).filter((line) => line.length > 0)
    expect(marked!.join()).to.equal('\uFEFFcreatedAt,kind,amount,balanceAfter,origin,callId,grantId,note,id')
    const header = marked!.map((name) => name.replace('\uFEFF', ''))

    const { data: first, nextCursor } = (await get(`${gateway.url}/api/ledger?limit=100`, token)).json
    const { data: rest } = (await get(`${gateway.url}/api/ledger?limit=100&cursor=${nextCursor}`, token)).json
    const cell = (value: string | number | null): string =>
      typeof value === 'string' && /^[=+\-@＝]/.test(value) ? `'${value}` : String(value ?? '')
    const wanted = [...first, ...rest].map((entry: Record<string, string | number | null>) =>
      header.map((column) => cell(entry[column]!)),
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
