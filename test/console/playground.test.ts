import { expect } from 'chai'
import { expectBooksToBalance } from '../support/books.ts'
import { until } from '../../scripts/harness/until.ts'
import { PIXEL } from '../support/pixel.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, looksGood, holds } from './support/visit.ts'

const PICTURE = Buffer.from(PIXEL, 'base64')

describe('the playground', () => {
  const gateway = consoleWithPages()

  it('edits an uploaded image', async () => {
    const { secret } = await gateway.customer('painter@example.com', 100)
    const { page, open } = await gateway.signedIn('painter@example.com')
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
  })

  it('offers the durations and resolutions of a model, and sends what was chosen', async () => {
    const { page, open } = await gateway.signedIn('director@example.com', { credits: 1000 })
    await open('/playground/video?model=sized-video', 'Playground')
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
  })

  it('shows answers as Markdown, and nothing in them as more than text', async () => {
    const { page, open } = await gateway.signedIn('markdown@example.com', { credits: 1000 })
    await open('/playground', 'Playground')
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
  })

  it('compares two models: one prompt, two answers, each with its cost, stopped one by one or together', async () => {
    const { page, open } = await gateway.signedIn('judge@example.com', { credits: 100_000, viewport: PHONE })
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
    await looksGood(page)

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
    await expectBooksToBalance(gateway.db)
  })

  it('calls by a key of its own for all tabs, replaced when it has ended, and revoked at the sign-out', async () => {
    const { id } = await gateway.person('leaver@example.com', { credits: 1000 })
    const { page, open, allow } = await gateway.signedIn('leaver@example.com')
    const keys = () => gateway.db('api_keys').where({ account_id: id, name: 'Console playground' })
    const ask = async (question: string): Promise<void> => {
      await page.getByLabel('Message').fill(question)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByTestId('receipt').waitFor()
    }
    await open('/playground', 'Playground')
    await ask('Hello!')
    await page.getByRole('button', { name: 'Forget' }).click()
    await open('/playground', 'Playground')
    await ask('Hello again!')
    expect(await keys()).to.have.length(1)

    await keys().update({ revoked_at: gateway.db.fn.now() })
    await page.getByRole('button', { name: 'New chat' }).click()
    await ask('Hello once more!')
    expect(await keys().whereNull('revoked_at')).to.have.length(1)
    await page.locator('.account summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await until('its key to be revoked', async () => (await keys().whereNull('revoked_at')).length === 0)
    allow(/status of 401/)
  })
})
