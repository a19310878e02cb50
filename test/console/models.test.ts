import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, fitsTheScreen } from './support/visit.ts'

/** The filters that have a row to themselves, although they take only a part of it. */
const lonely = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const frame = document.querySelector('.filters').clientWidth
    const fields = [...document.querySelectorAll('.filters > .field')].map((field) => {
      const { top, width } = field.getBoundingClientRect()
      return { name: field.innerText.split('\\n')[0], top: Math.round(top), width }
    })
    return fields
      .filter(({ top, width }) => width < frame - 1 && fields.filter((one) => one.top === top).length === 1)
      .map(({ name }) => name)
  })()`)

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
    expect(await lonely(page), 'filters that are alone in a row of several').to.deep.equal([])
    await fits()
    expect(await lonely(page), 'filters that are alone in a row of several, on a phone').to.deep.equal([])
    await page.getByLabel('Order').selectOption('context')
    await page.locator('.models li').first().getByText('200,000 tokens').waitFor()

    await open('/models/sandbox-chat', 'sandbox-chat')
    await page.getByText('200,000 tokens').waitFor()
    await page.getByText('1.3 s median').waitFor()
    await page.getByText('1,000 credits in · 3,000 credits out per 1M tokens').waitFor()
    await page.getByRole('button', { name: 'Python' }).click()
    await page.getByText('client.chat.completions.create(').waitFor()
    const { width } = (await page.getByRole('button', { name: 'JavaScript' }).boundingBox())!
    expect(width, 'the width of a button of one word').to.be.below(120)
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
