import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { until } from '../../scripts/harness/until.ts'
import { PIXEL } from '../support/pixel.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { fitsTheScreen, holds, seriousFaults, visit } from './support/visit.ts'
import { aCustomer } from './support/customer.ts'

const PICTURE = Buffer.from(PIXEL, 'base64')

describe('the playground', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway({}, ({ models }) => {
      const [chat] = models.filter(({ id }) => id === 'sandbox-chat')
      const more = { maxOutputTokens: 20_000, defaultOutputTokens: 16_384 }
      models.push({ ...chat, id: 'agents-chat', ...more })
    })
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  it('edits an uploaded image', async () => {
    const { secret } = await aCustomer(gateway, 'painter@example.com', 100)
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('painter@example.com')
    await open('/playground/image', 'Playground')
    await page.getByText('Your image appears here').waitFor()
    // Its place is taller than these words, which stand in its middle.
    const middle = (selector: string): string =>
      `(({ top, height }) => top + height / 2)(document.querySelector('${selector}').getBoundingClientRect())`
    await holds(page, `Math.abs(${middle('.result')} - ${middle('.result .empty')}) < 2`)
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
    await holds(page, `document.querySelector('.media img')?.naturalWidth > 1`)
    expect(await page.getByTestId('receipt').innerText()).to.match(/^Cost 40 credits · .* balance 60/)
    const [sent] = gateway.sandbox.journal('the fox, in snow')
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
    const { secret } = await aCustomer(gateway, 'director@example.com', 1000)
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('director@example.com')
    await open('/playground/video?model=sized-video', 'Playground')
    await page.getByRole('button', { name: 'Paste a key' }).click()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Use key' }).click()
    const [resolution, seconds] = [page.getByLabel('Resolution'), page.getByLabel('Duration')]
    const offered = async () => [
      await resolution.locator('option').allInnerTexts(),
      await seconds.locator('option').allInnerTexts(),
    ]
    await until('its resolutions are offered', async () => (await offered())[0]!.includes('1080p'))
    expect(await offered()).to.deep.equal([
      ['Default (720p)', '720p', '1080p'],
      ['Default (4 s)', '4 s', '8 s'],
    ])
    await resolution.selectOption('1080p')
    await seconds.selectOption('8')
    await page.getByLabel('Model').selectOption('sandbox-video')
    await until('the other model is offered', async () => (await offered())[0]!.includes('480p'))
    const upToTen = Array.from({ length: 10 }, (_one, at) => `${at + 1} s`)
    expect((await offered())[1]).to.deep.equal(['Default', ...upToTen])
    expect([await resolution.inputValue(), await seconds.inputValue()]).to.deep.equal(['', '8'])
    await page.getByLabel('Prompt').fill('waves for eight seconds')
    await page.getByRole('button', { name: 'Generate video' }).click()
    await page.getByTestId('receipt').waitFor()
    const [sent] = gateway.sandbox.journal('waves for eight seconds')
    expect(JSON.stringify(sent!.body)).to.include('"seconds":"8"').and.not.to.include('size')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('counts the output that the model has where no limit is typed, and no more than it may have', async () => {
    await gateway.person('agent@example.com', { credits: 100_000 })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    // Nothing that the gateway says of a price: the page counts by itself.
    await page.route('**/v1/quotes', (route) => route.abort())
    await signIn('agent@example.com')
    const limit = page.getByLabel('Maximum output tokens')
    const most = (text: string) =>
      page
        .getByTestId('ceiling')
        .getByText(new RegExp(`^At most ${text} credits`))
        .waitFor()
    for (const [model, unset, credits] of [
      ['agents-chat', '16384', 50],
      ['sandbox-chat', '1024', 4],
    ] as const) {
      await open(`/playground/chat?model=${model}`, 'Playground')
      expect(await limit.getAttribute('placeholder')).to.equal(unset)
      await most(String(credits))
    }
    await open('/playground/chat?model=agents-chat', 'Playground')
    await limit.fill('90000')
    await most('61')
    expect(faults().filter((fault) => !fault.includes('/v1/quotes') && !fault.includes('ERR_FAILED'))).to.deep.equal([])
    await close()
  })

  it('shows answers as Markdown, and nothing in them as more than text', async () => {
    const { secret } = await aCustomer(gateway, 'markdown@example.com', 1000)
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('markdown@example.com')
    await open('/playground', 'Playground')
    await page.getByRole('button', { name: 'Paste a key' }).click()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Use key' }).click()
    const hostile = '<img src=x onerror=alert(1)> ![x](https://elsewhere.example/x.png) (javascript:alert(1))'
    await page.getByLabel('Message').fill(`[echo] **bold** and \`code\` ${hostile}`)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByTestId('receipt').waitFor()
    const answer = page.locator('.markdown')
    expect(await answer.locator('strong').innerText()).to.equal('bold')
    expect(await answer.locator('code').innerText()).to.equal('code')
    expect(await answer.innerText()).to.contain('<img src=x')
    expect(await answer.locator('img, script, a').count()).to.equal(0)
    await page.getByRole('button', { name: 'Retry' }).click()
    await until('the question was asked again', () => gateway.sandbox.journal('**bold**').length === 2)
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('compares two models: one prompt, two answers, each with its cost, stopped one by one or together', async () => {
    await gateway.person('judge@example.com', { credits: 100_000 })
    const { page, signIn, open, faults, close } = await visit(browser, gateway, {
      viewport: { width: 360, height: 740 },
    })
    await signIn('judge@example.com')
    await open('/playground/chat?model=sandbox-chat', 'Playground')
    await page.getByText('sandbox-chat · your balance').click()
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await page.getByLabel('Compare with').selectOption('dear-chat')
    await page
      .getByTestId('ceiling')
      .getByText(/^At most [\d,]+ credits together$/)
      .waitFor()
    const lane = (name: string) => page.getByRole('region', { name, exact: true })
    const [left, right] = [lane('sandbox-chat'), lane('dear-chat')]
    await page.getByLabel('Message').fill('[answer well yes] which is better?')
    await page.getByLabel('Message').press('Enter')
    for (const side of [left, right]) {
      await side.getByTestId('receipt').waitFor()
      expect(await side.locator('.markdown').innerText()).to.equal('well yes')
      expect(await side.getByTestId('receipt').innerText())
        .to.match(/^Cost \d+ credits? · /)
        .and.not.to.contain('balance')
    }
    await page.getByText(/^Balance after both: [\d,]+ credits$/).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await fitsTheScreen(page)

    await page.getByLabel('Message').fill('[hold] and at length?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('button', { name: 'Stop both' }).waitFor()
    for (const side of [left, right])
      await until('the answer to begin', async () => (await side.locator('.markdown').count()) === 2)
    await page.getByRole('button', { name: 'Stop sandbox-chat' }).click()
    await left.getByText(/Stopped. It cost/).waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await right.getByText(/Stopped. It cost/).waitFor()
    // Each model goes on from its own answers, and all calls were made by one key.
    expect(
      gateway.sandbox.journal('and at length?').map(({ body }) => (body as { messages: [] }).messages.length),
    ).to.deep.equal([3, 3])
    await page.getByRole('button', { name: 'Stop comparing' }).click()
    await left.waitFor({ state: 'detached' })
    await open('/keys', 'Keys')
    await page.getByText('Console playground').first().waitFor()
    expect(await page.getByText('Console playground').count()).to.equal(1)
    expect(faults()).to.deep.equal([])
    await expectBooksToBalance(gateway.db)
    await close()
  })

  it('revokes its own key at the sign-out, and replaces a secret that another tab has ended', async () => {
    await gateway.person('leaver@example.com', { credits: 1000 })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('leaver@example.com')
    const keys = () =>
      gateway
        .db('api_keys')
        .join('members', 'members.account_id', 'api_keys.account_id')
        .join('users', 'users.id', 'members.user_id')
        .where({ email: 'leaver@example.com', name: 'Console playground' })
        .select<{ id: string; revoked_at: Date | null }[]>('api_keys.id', 'api_keys.revoked_at')
    const ask = async (question: string): Promise<void> => {
      await page.getByLabel('Message').fill(question)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByTestId('receipt').waitFor()
    }
    await open('/playground', 'Playground')
    await ask('Hello!')
    await gateway
      .db('api_keys')
      .where({ id: (await keys())[0]!.id })
      .update({ revoked_at: gateway.db.fn.now() })
    await page.getByRole('button', { name: 'New chat' }).click()
    await ask('Hello again!')
    expect((await keys()).filter(({ revoked_at }) => revoked_at === null)).to.have.length(1)
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await until('its key to be revoked', async () => (await keys()).every(({ revoked_at }) => revoked_at !== null))
    expect(faults(/status of 401/)).to.deep.equal([])
    await close()
  })

  it('calls without a key of the customer: by one of its own, which every tab shares', async () => {
    await gateway.person('plain@example.com', { credits: 1000 })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('plain@example.com')
    const ask = async (question: string): Promise<void> => {
      await open('/playground', 'Playground')
      await page.getByLabel('Message').fill(question)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByTestId('receipt').waitFor()
    }
    await ask('Hello!')
    await page.getByRole('button', { name: 'Forget' }).click()
    await ask('Hello again!')
    await open('/keys', 'Keys')
    await page.getByText('Console playground').first().waitFor()
    expect(await page.getByText('Console playground').count()).to.equal(1)
    expect(faults()).to.deep.equal([])
    await close()
  })
})
