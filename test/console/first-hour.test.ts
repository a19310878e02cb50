import { expect } from 'chai'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { readVersion } from '../../src/shared/catalogue/versions.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import {
  CHAT,
  EMBEDDINGS,
  IMAGES,
  RERANK,
  SPEECH,
  callOf,
  chatBody,
  image,
  imageBody,
  prompted,
} from '../../scripts/harness/calling.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { EACH_LANGUAGE, plain, readsWell } from './support/untranslated.ts'
import { PHONE, looksGood } from './support/visit.ts'

const SETTINGS = { PUBLIC_CATALOGUE: 'on', WEBHOOK_ALLOW_PRIVATE: 'on' }

/** Where nobody listens. */
const NOWHERE = 'http://127.0.0.1:9/events'

describe('the first hour with the console', () => {
  const gateway = consoleWithPages(() => startConsoleGateway(SETTINGS))

  it('shows prices to a visitor, who signs up, and verifies by the mail that was not sent', async () => {
    const { page, open } = await gateway.visit({ viewport: PHONE })
    await open('/models', 'Models')
    await page.getByText('40 credits per image').first().waitFor()
    await looksGood(page)
    await page.getByRole('link', { name: 'Create an account' }).first().click()
    await page.getByLabel('Name').fill('Ada Lovelace')
    await page.getByLabel('E-mail address').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByTestId('balance').waitFor()
    await open('/dev/mail', 'Mails that were not sent')
    await looksGood(page)
    await page.getByRole('link', { name: /\/verify#token=/ }).click()
    await page.getByRole('button', { name: 'Verify my address' }).click()
    await page.getByRole('heading', { level: 1, name: 'Your address is verified' }).waitFor()
  })

  // In Chinese: a text that English alone had would be found.
  const { t, reader } = EACH_LANGUAGE[1]!
  it('shows operators in Chinese what failed at one upstream before another served a call', async () => {
    const { secret: key } = await gateway.customer('unlucky@example.com', 1000)
    const moved = await image(gateway, { key }, prompted(), { model: 'fallback-image' })
    expect(moved.status).to.equal(200)
    const { page, open } = await gateway.signedIn('why@example.com', {
      admin: true,
      ...reader,
    })
    const attempts = page.getByTestId('attempts').locator('tbody tr')
    await open(`/operator/calls/${moved.headers.get('x-call-id')}`, t.frame.page.calls)
    await attempts.filter({ hasText: 'unreachable' }).first().getByText(t.operator.noAnswer).waitFor()
    await attempts.last().getByText('HTTP 200').waitFor()
    await readsWell(page, t)
    // Figures of calls may be ten seconds old: no test before these has read them.
    await open('/operator/upstreams', t.frame.operators.upstreams)
    await page.getByTestId('failures').locator('tbody a').first().click()
    await page.getByTestId('attempts').waitFor()
    await readsWell(page, t)
  })

  it('explains in Chinese why a webhook is not taken, and since when', async () => {
    const { page, open } = await gateway.signedIn('hooked@example.com', reader)
    await open('/webhooks', t.frame.page.webhooks)
    await page.getByRole('button', { name: t.webhooks.new }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(t.words.fields.address).fill(NOWHERE)
    await dialog.getByRole('button', { name: t.webhooks.create }).click()
    await dialog.getByRole('button', { name: t.frame.done }).click()
    await page.getByRole('link', { name: NOWHERE }).click()
    await page.getByRole('button', { name: t.webhooks.test }).click()
    const deliveries = page.getByRole('region', { name: t.webhooks.deliveries })
    await deliveries.getByText(t.webhooks.notes.unreachable).waitFor()
    await page.reload()
    await page.getByText(plain(t.webhooks.failingSince(''))).waitFor()
    await readsWell(page, t)
  })

  it('leads an operator from the checklist, by Ctrl K, to a new upstream, whose key is missing', async () => {
    const { page, open } = await gateway.signedIn('first@example.com', { admin: true })
    await open('/operator', 'Operator home')
    await page.getByTestId('setup').getByText('Before customers come').waitFor()
    await page.getByTestId('setup').getByText('nothing serves unavailable-image').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).fill('catalogue')
    await page
      .getByRole('option', { name: /^Catalogue/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor()

    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add an upstream' }).click()
    await dialog.getByLabel('Name').fill('openai2')
    await dialog.getByLabel('Address').fill(`${gateway.sandbox.url}/v1`)
    await dialog.getByLabel('Variable of its key').fill('OPENAI2_KEY')
    await looksGood(page)
    await dialog.getByRole('button', { name: 'Write into the catalogue' }).click()
    await page.getByRole('button', { name: 'Add a model' }).click()
    await dialog.getByLabel('ID', { exact: true }).fill('only-new')
    await dialog.getByLabel('Upstream', { exact: true }).selectOption('openai2')
    await dialog.getByLabel('Its name there').first().fill('gpt-sandbox')
    await dialog.getByLabel('Kind').selectOption('embedding')
    await dialog.getByLabel('Credits per 1M input tokens').fill('20')
    await dialog.getByLabel('Least credits of a call').fill('1')
    await looksGood(page)
    await dialog.getByRole('button', { name: 'Write into the catalogue' }).click()
    await page.getByRole('button', { name: 'Check and compare' }).click()
    const findings = page.getByTestId('findings')
    await findings.getByText('Upstream openai2: the key "default" is not configured').waitFor()
    await findings.getByText('Model only-new').waitFor()
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: /^Apply as version/ }).click()
    await page.getByRole('button', { name: 'Edit the model only-new' }).waitFor()

    await open('/operator/upstreams', 'Upstreams')
    const row = page.getByTestId('upstream-keys').locator('tbody tr', { hasText: 'openai2' })
    await until('the new upstream is listed', async () => {
      if ((await row.count()) === 0) await page.getByRole('button', { name: 'Refresh' }).click()
      return (await row.count()) > 0
    })
    await row.getByText(/^Missing: set \w+ for web and workers, then restart them$/).waitFor()
    await page.getByRole('button', { name: 'Test the key default of sandbox', exact: true }).click()
    await page.getByText(/^HTTP 200 in .*: the upstream accepts the key/).waitFor()

    await open('/operator/catalogue', 'Catalogue')
    await page.getByRole('button', { name: 'Edit the upstream sandbox', exact: true }).click()
    const variable = await dialog.getByLabel('Variable of its key').inputValue()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit the upstream openai2' }).click()
    await dialog.getByLabel('Variable of its key').fill(variable)
    await dialog.getByRole('button', { name: 'Write into the catalogue' }).click()
    await page.getByRole('button', { name: 'Check and compare' }).click()
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: /^Apply as version/ }).click()
    await page.getByRole('button', { name: 'Check and compare' }).waitFor()
    await open('/operator/upstreams', 'Upstreams')
    await until('the key is set', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return (await row.getByText('Set', { exact: true }).count()) > 0
    })
    await page.getByRole('button', { name: 'Test the key default of openai2', exact: true }).click()
    await row.getByText(/^HTTP 200 in .*: the upstream accepts the key/).waitFor()
  })

  /** What a kind of call is charged for: the lines of its receipt, each with a million of its units' price or one's. */
  const CHARGED = [
    [CHAT, chatBody('hello'), ['input', 'token', '1,000'], ['output', 'token', '3,000']],
    [IMAGES, imageBody('a fox'), ['image', 'picture', '40']],
    [EMBEDDINGS, { model: 'sandbox-embedding', input: 'a fox' }, ['input', 'token', '100,000']],
    [RERANK, { model: 'sandbox-rerank', query: 'a', documents: ['b', 'c'] }, ['rerank', 'search', '2']],
    [SPEECH, { model: 'sandbox-speech', input: 'eight co', voice: 'alloy' }, ['speech', 'character', '1,500,000']],
  ] as const

  it('shows what calls were charged for, by the prices that applied, after these have changed', async () => {
    const email = 'receipts@example.com'
    const { secret } = await gateway.customer(email, 1000)
    const made = await Promise.all(
      CHARGED.map(async ([path, body, ...lines]) => {
        const reply = await post(`${gateway.url}${path}`, secret, body)
        expect(reply.status, `${path} ${reply.text}`).to.equal(200)
        return { id: publicId('call', callOf(reply)), lines }
      }),
    )
    const dearer = structuredClone((await readVersion(gateway.db, 'newest'))!.content) as Catalogue
    for (const model of dearer.models) if (model['credits'] === 40) model['credits'] = 80
    const applied = { content: dearer, source: 'command', operator: null, note: null, expect: null } as const
    expect((await applyCatalogue(gateway.db, applied)).is).to.equal('applied')
    for (const { t, reader } of EACH_LANGUAGE) {
      await gateway.db('users').where({ email }).update({ language: reader.language })
      const { page, open } = await gateway.signedIn(email, { viewport: PHONE, locale: reader.locale })
      const { whats, counted, perMillion, paidBy } = t.calls.receipt
      for (const { id, lines } of made) {
        await open(`/calls/${id}`, t.frame.page.calls)
        const shown = page.getByTestId('receipt')
        await shown.getByText(paidBy(t.words.origins.purchase)).waitFor()
        for (const [what, unit, price] of lines) {
          const forms = [true, false].map((isOne) => counted('\\d+', isOne, unit))
          const terms = forms.flatMap((count) => [`${count} × ${price}\\s`, perMillion(count, price)])
          expect(await shown.innerText()).to.match(new RegExp(`${whats[what]}\\s+(?:${terms.join('|')})`))
        }
      }
      await readsWell(page, t)
    }
  })
})
