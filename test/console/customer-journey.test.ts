import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceIs, buy, shopWithPages } from './support/shop.ts'
import { PHONE, fitsTheScreen, holds } from './support/visit.ts'

/** The number in a text such as `1,204` or `−40`. */
const numberOf = (text: string): number => Number(text.replaceAll(/[,+]/g, '').replace('−', '-'))

const receipt = (page: Page): Promise<string> => page.getByTestId('receipt').innerText()

describe('a customer of the console, on a phone', () => {
  const gateway = shopWithPages()

  /** A visit, and the way to its pages, which are in a menu. */
  async function come() {
    const opened = await gateway.visit({ viewport: PHONE })
    const { page } = opened
    const go = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    }
    return { ...opened, go }
  }
  type Coming = Awaited<ReturnType<typeof come>>

  async function signUp({ page }: Coming, email: string): Promise<void> {
    await page.goto(`${gateway.url}/sign-up`)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByText('is not verified yet').waitFor()
    await page.goto(await gateway.link(email))
    await page.getByRole('button', { name: 'Verify my address' }).click()
    await page.getByRole('heading', { name: 'Your address is verified' }).waitFor()
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    await page.getByText('is not verified yet').waitFor({ state: 'detached' })
  }

  /** A streamed chat without a key of one's own: the words come one after the other. */
  async function chat({ page, go }: Coming): Promise<void> {
    await go('Playground')
    await page
      .getByTestId('ceiling')
      .getByText(/^At most 4 credits/)
      .waitFor()
    await page.getByLabel('Message').fill('[hold] [answer one two three four five six seven eight] hi')
    await page.getByLabel('Message').press('Enter')
    const answer = page.locator('.message.assistant p')
    await answer.filter({ hasText: /^one$/ }).waitFor()
    expect(await page.getByTestId('receipt').count()).to.equal(0)
    gateway.sandbox.release('hi')
    await page.getByTestId('receipt').waitFor()
    expect(await answer.innerText()).to.equal('one two three four five six seven eight')
    expect(await receipt(page)).to.match(/^Cost 1 credit \(about €0.01\) · .* balance 1,099 · this call$/)
  }

  async function picture({ page }: Coming): Promise<void> {
    await page.getByRole('link', { name: 'Image', exact: true }).click()
    await page.getByLabel('Prompt').fill('a red fox')
    await page.getByTestId('ceiling').getByText('At most 40 credits (about €0.40)', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Generate image' }).click()
    await holds(page, `document.querySelector('.media img')?.naturalWidth > 0`)
    expect(await receipt(page)).to.match(/^Cost 40 credits .* · .* balance 1,059/)
  }

  async function film({ page }: Coming): Promise<void> {
    await page.getByRole('link', { name: 'Video', exact: true }).click()
    await page.getByLabel('Prompt').fill('waves at dusk [hold]')
    await page.getByRole('button', { name: 'Generate video' }).click()
    await page
      .getByTestId('result')
      .getByText(/Running… \d+ %/)
      .waitFor()
    gateway.sandbox.release('waves at dusk')
    await holds(page, `document.querySelector('video')?.readyState >= 2`)
    await page.evaluate(`document.querySelector('video').play()`)
    await holds(page, `document.querySelector('video').currentTime > 0`)
    expect(await receipt(page)).to.match(/^Cost 250 credits .* · .* balance 809/)
  }

  /** What became of the call that was just made, and back to where it was made. */
  async function trail({ page }: Coming, cost: number): Promise<void> {
    const from = new URL(page.url()).pathname
    await page.getByRole('link', { name: 'this call' }).click()
    const text = await page.getByTestId('trail').innerText()
    expect(text.split('\n').filter((line) => /^[A-Z][a-z]+$/.test(line))).to.deep.equal(
      'Accepted Charged Running Settled'.split(' '),
    )
    expect(text).to.contain(`−${cost} credits`)
    // The date stands once, with the first time.
    expect(text.match(/[A-Z][a-z]{2} \d{1,2}, /g), text).to.have.length(1)
    expect(text).to.match(/^Accepted\n[A-Z][a-z]{2} \d{1,2}, /)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await holds(page, `location.pathname === '${from}'`)
    expect(await receipt(page)).to.contain(`Cost ${cost} credits`)
  }

  /** Pictures and films are in a gallery, which leads to their calls. */
  async function gallery({ page, go }: Coming, pictures: number): Promise<void> {
    await go('Gallery')
    await holds(page, `document.querySelector('.gallery img')?.naturalWidth > 1`)
    await until(`${pictures} results are shown`, async () => (await page.locator('.gallery li').count()) === pictures)
    await page.locator('.gallery li a[href^="/calls/"]').first().click()
    await page.getByTestId('trail').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { level: 1, name: 'Gallery' }).waitFor()
    await page.getByRole('link', { name: 'Videos' }).click()
    await holds(page, `document.querySelector('.gallery video')?.readyState >= 1`)
  }

  async function signOut({ page }: Coming): Promise<void> {
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('Object.keys({ ...sessionStorage, ...localStorage })')).to.deep.equal([])
  }

  /** The ledger adds up to the balance, line by line, and can be taken along. */
  async function ledger({ page, go }: Coming, balance: number): Promise<void> {
    await go('Credits')
    const table = page.getByTestId('ledger')
    const column = async (nth: number): Promise<number[]> =>
      (await table.locator(`tbody tr td:nth-child(${nth})`).allInnerTexts()).map(numberOf)
    // What the page showed before comes first, and then what it is told now.
    await until(`the newest entry leaves ${balance}`, async () => (await column(4))[0] === balance)
    const [amounts, balances] = [await column(3), await column(4)]
    expect(amounts.reduce((sum, one) => sum + one, 0)).to.equal(balance)
    balances.slice(1).forEach((before, index) => expect(balances[index]).to.equal(before + amounts[index]!))
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('tollgate-ledger.csv')
    expect(readFileSync(await download.path(), 'utf8')).to.match(/^\uFEFFcreatedAt,kind,amount,/)
  }

  async function overview({ page, go }: Coming): Promise<void> {
    await page.getByRole('link', { name: 'Tollgate' }).waitFor()
    await go('Overview')
    await page.getByText('credits to spend · about €8.09').waitFor()
    await page.getByText('in the last 30 days · about €2.91').waitFor()
  }

  it('comes from nothing to paid calls whose every credit adds up, and every page fits', async () => {
    const coming = await come()
    const { page } = coming
    const steps = [
      () => signUp(coming, 'journey@example.com'),
      () => page.getByRole('link', { name: 'Buy credits' }).click(),
      () => buy(page, 'Buy 1,000 credits for €10.00'),
      () => balanceIs(page, '1,100'),
      () => chat(coming),
      () => picture(coming),
      () => trail(coming, 40),
      () => film(coming),
      () => trail(coming, 250),
      () => gallery(coming, 1),
      () => ledger(coming, 809),
      () => overview(coming),
    ]
    for (const step of steps) {
      await step()
      await fitsTheScreen(page)
    }
    await balanceIs(page, '809')
    await signOut(coming)
    await expectBooksToBalance(gateway.db)
  })
})
