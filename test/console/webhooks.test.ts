import { expect } from 'chai'
import type { Page, Route } from 'playwright-core'
import { Webhook as Verifier } from 'standardwebhooks'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { until } from '../../scripts/harness/until.ts'
import { startReceiver } from '../support/webhooks.ts'
import type { Receiver } from '../support/webhooks.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, fitsTheScreen, seriousFaults } from './support/visit.ts'

describe('webhooks in the console', () => {
  const gateway = consoleWithPages(() => startConsoleGateway({ WEBHOOK_ALLOW_PRIVATE: 'on' }))
  let receiver: Receiver
  before(async () => {
    // The second event meets a receiver that is gone.
    receiver = await startReceiver((response, nth) => response.writeHead(nth === 2 ? 410 : 204).end())
  })
  after(async () => {
    await receiver?.stop()
  })

  const secretOf = async (page: Page): Promise<string> => {
    const dialog = page.getByRole('dialog')
    const secret = (await dialog.getByTestId('secret').locator('code').innerText()).trim()
    await dialog.getByRole('button', { name: 'Done' }).click()
    return secret
  }

  it('make one, test it, send events again, say why it is off, enable it, rotate it and remove it', async () => {
    const { page, open, allow } = await gateway.signedIn('hooks@example.com')
    await open('/webhooks', 'Webhooks')
    await page.getByText('No webhooks yet').waitFor()
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill('ftp://example.com')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    await dialog.getByText(/^Address must/).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await dialog.getByLabel('Address').fill(receiver.url)
    await dialog.getByLabel('key.created').uncheck()
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    const secret = await secretOf(page)
    await page.getByText('9 events').waitFor()

    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhook' }).waitFor()
    await page.getByRole('button', { name: 'Send test event' }).click()
    const deliveries = page.getByRole('region', { name: 'Deliveries' })
    await deliveries.getByText('Delivered').waitFor()
    await deliveries.getByText(/^204 in/).waitFor()
    await deliveries.getByRole('button', { name: 'webhook.test', exact: true }).click()
    await dialog.getByText('"type": "webhook.test"').waitFor()
    await dialog
      .getByRole('region', { name: 'Tries' })
      .getByText(/^204 in/)
      .waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.keyboard.press('Escape')
    const { body, headers } = receiver.received[0]!
    expect(new Verifier(secret).verify(body, headers as Record<string, string>)).to.include({ type: 'webhook.test' })
    await page.setViewportSize(PHONE)
    await fitsTheScreen(page)
    await page.setViewportSize({ width: 1280, height: 820 })

    await deliveries.getByRole('button', { name: 'Send again: webhook.test' }).click()
    await until('the event has come again', () => receiver.received.length === 2)
    expect(receiver.received[1]!.headers['webhook-id']).to.equal(headers['webhook-id'])
    await page.getByText('Disabled: answered 410').waitFor()
    await page.getByRole('button', { name: 'Enable' }).click()
    await deliveries.getByText('Delivered').waitFor()

    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    expect(await secretOf(page)).not.to.equal(secret)
    await page.getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('key.revoked').uncheck()
    await dialog.getByRole('button', { name: 'Save webhook' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await page.getByText('key.revoked').count()).to.equal(0)

    await page.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()
    await open('/webhooks', 'Webhooks')
    await page.getByText('No webhooks yet').waitFor()
    allow(/400/)
  })

  it('make a callback secret, and another in its place', async () => {
    const { page, open, allow } = await gateway.signedIn('callbacks@example.com')
    await open('/webhooks', 'Webhooks')
    const make = async (): Promise<string> => {
      await page.getByRole('button', { name: 'New callback secret' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Make secret' }).click()
      return secretOf(page)
    }
    const first = await make()
    expect(await make())
      .to.match(/^whsec_/)
      .and.not.equal(first)
    allow(/409/)
  })

  it('are made, tested, switched and removed by operators for what concerns the house', async () => {
    const { page, open } = await gateway.signedIn('house@example.com', { admin: true })
    await open('/operator/webhooks', 'Webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address').fill(receiver.url)
    await dialog.getByLabel('mail.dead').uncheck()
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    const secret = await secretOf(page)
    const before = receiver.received.length
    await page.getByRole('button', { name: `Test ${receiver.url}` }).click()
    await page.getByText('A test event is on its way').waitFor()
    await until('the test event has come', () => receiver.received.length > before)
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhook' }).waitFor()
    await page.getByRole('button', { name: 'Send again: webhook.test' }).click()
    await until('it has come again', () => receiver.received.length > before + 1)
    expect(receiver.received[before + 1]!.body).to.equal(receiver.received[before]!.body)
    await page.setViewportSize(PHONE)
    await fitsTheScreen(page)
    await page.setViewportSize({ width: 1280, height: 820 })
    await page.getByRole('link', { name: 'All webhooks of the operators' }).click()
    await page.getByRole('button', { name: `Rotate the secret of ${receiver.url}` }).click()
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    expect(await secretOf(page)).not.to.equal(secret)
    await page.setViewportSize(PHONE)
    await fitsTheScreen(page)
    await page.getByRole('button', { name: `Disable ${receiver.url}` }).click()
    await page.getByRole('button', { name: `Enable ${receiver.url}` }).waitFor()
    await page.getByRole('button', { name: `Remove ${receiver.url}` }).click()
    await dialog.getByRole('button', { name: 'Remove webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()
    await open('/operator/actions', 'Audit log')
    await page.getByRole('cell', { name: 'Removed a webhook' }).waitFor()
  })

  it('are off the page when they are removed, though the answer was lost or the page was left meanwhile', async () => {
    const { page, open, allow } = await gateway.signedIn('leaving@example.com', { admin: true })
    const dialog = page.getByRole('dialog')
    const one = '**/api/operator/webhooks/*'
    const make = async (): Promise<void> => {
      await page.getByRole('button', { name: 'New webhook' }).click()
      await dialog.getByLabel('Address').fill(receiver.url)
      await dialog.getByRole('button', { name: 'Create webhook' }).click()
      await secretOf(page)
    }
    const remove = async (): Promise<void> => {
      await page.getByRole('button', { name: `Remove ${receiver.url}` }).click()
      await dialog.getByRole('button', { name: 'Remove webhook' }).click()
    }
    await open('/operator/webhooks', 'Webhooks')
    await make()
    const lost = async (route: Route): Promise<void> => {
      await route.fetch()
      await route.abort('connectionreset')
    }
    await page.route(one, lost, { times: 1 })
    await remove()
    await dialog.getByText('The server cannot be reached').waitFor()
    await dialog.getByRole('button', { name: 'Remove webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()

    await make()
    const removals: Route[] = []
    await page.route(one, (route) => void removals.push(route), { times: 1 })
    await remove()
    await until('the removal is on its way', () => removals.length === 1)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    const list = page.waitForResponse('**/api/operator/webhooks')
    await page.goBack()
    await (await list).finished()
    await page.getByRole('button', { name: `Remove ${receiver.url}` }).waitFor()
    await removals[0]!.continue()
    await page.getByText('No webhooks yet').waitFor()
    allow(/404|ERR_CONNECTION_RESET/)
  })
})
