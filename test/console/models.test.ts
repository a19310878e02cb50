import { expect } from 'chai'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, fitsTheScreen } from './support/visit.ts'

describe('the pages of the models', () => {
  const gateway = consoleWithPages(() =>
    startConsoleGateway({}, (catalogue) => {
      catalogue.models.find(({ id }) => id === 'sandbox-chat')!['contextLength'] = 200_000
    }),
  )

  it('state context length, durations and the latency of a day, in the list and on the page of one', async () => {
    const { secret } = await gateway.customer('chooser@example.com', 500)
    const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await post(`${gateway.url}/v1/chat/completions`, secret, chat)).status).to.equal(200)
    await gateway.db('calls').where({ model: 'sandbox-chat' }).update({ latency_ms: 1250 })
    const { page, open } = await gateway.signedIn('chooser@example.com', { viewport: { width: 1440, height: 900 } })
    const fits = async (): Promise<void> => {
      for (const viewport of [{ width: 1440, height: 900 }, PHONE]) {
        await page.setViewportSize(viewport)
        await fitsTheScreen(page)
      }
    }
    await open('/models', 'Models')
    const card = page.locator('.models li').filter({ has: page.getByRole('heading', { name: 'sandbox-chat' }) })
    await card.getByText('200,000 tokens').waitFor()
    await card.getByText('1.3 s median').waitFor()
    await card.getByText('95% within 1.3 s').waitFor()
    await page.locator('.models li').filter({ hasText: 'sized-video' }).getByText('4, 8 s').waitFor()
    await fits()
    await page.getByLabel('Order').selectOption('context')
    await page.locator('.models li').first().getByText('200,000 tokens').waitFor()

    await open('/models/sandbox-chat', 'sandbox-chat')
    await page.getByText('200,000 tokens').waitFor()
    await page.getByText('1.3 s median').waitFor()
    await page.getByText('1,000 credits in · 3,000 credits out per 1M tokens').waitFor()
    await page.getByRole('button', { name: 'Python' }).click()
    await page.getByText('client.chat.completions.create(').waitFor()
    await page.getByRole('button', { name: 'Messages' }).click()
    await page.getByText('client.messages.create(').waitFor()
    await page.getByRole('button', { name: 'Claude Code' }).click()
    await page.getByText(`export ANTHROPIC_BASE_URL=${gateway.url}`).waitFor()
    await page.getByRole('button', { name: 'Chat Completions' }).click()
    await page.getByText('/v1/chat/completions').waitFor()
    await fits()
  })

  it('are found by words and kind', async () => {
    const { page, open } = await gateway.signedIn('finder@example.com')
    await open('/models', 'Models')
    await page.getByLabel('Search').fill('sandbox')
    await page.getByLabel('Kind').selectOption('video')
    await until('only videos are listed', async () => {
      const kinds = await page.locator('.models .kind').allInnerTexts()
      return kinds.length > 0 && kinds.every((kind) => kind === 'Video')
    })
    await page.getByLabel('Search').fill('there is no such word')
    await page.getByText('No matching models').waitFor()
  })
})
