import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { newId, publicId } from '../../src/shared/platform/ids.ts'
import { requestMail } from '../../src/shared/mail/mails.ts'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { image, prompted } from '../../scripts/harness/calling.ts'
import { get, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { fitsTheScreen, holds, visit } from './support/visit.ts'

describe("the operator's pages", () => {
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

  it('lets an operator retry a dead letter', async () => {
    const email = 'lost@example.com'
    await gateway.person(email)
    await gateway.person('postmaster@example.com', { admin: true })
    await gateway.link(email)
    const id = newId('mail')
    const given = { status: 'dead', tries: 8, note: '<b>451</b> try later', finished_at: gateway.db.fn.now() }
    // Together, so that no worker finds it queued.
    await gateway.db.transaction(async (trx) => {
      await requestMail(trx, { id, kind: 'reset', recipient: email, userId: null })
      await trx('mails').where({ id }).update(given)
    })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('postmaster@example.com')
    await open('/operator/mails', 'Undelivered e-mails')
    const row = page.locator('tbody tr', { hasText: email })
    expect(await row.innerText()).to.contain('<b>451</b> try later')
    await page.getByRole('button', { name: `Retry the e-mail to ${email}` }).click()
    await row.waitFor({ state: 'detached' })
    expect(await gateway.link(email, 2)).to.contain('/reset#token=')
    await page.getByRole('link', { name: 'Audit' }).click()
    const action = page
      .locator('tbody tr', { hasText: 'Retried an e-mail' })
      .filter({ hasText: 'postmaster@example.com' })
    expect(await action.innerText()).to.contain('postmaster@example.com')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('shows operators what calls brought in and what they cost, and says what is unknown', async () => {
    const { id, token } = await gateway.person('margins@example.com', { credits: 1000, admin: true })
    const { secret } = (await send('POST', `${gateway.url}/api/keys`, { key: token, body: { name: 'mine' } })).json
    const bought = await image(gateway, { key: secret as string }, prompted())
    expect(bought.status, bought.text).to.equal(200)
    const told = { cost_micro_usd: 12_500, model: 'margin-image', price_version: null }
    await gateway.db('calls').where({ account_id: id }).update(told)
    expect((await image(gateway, { key: secret as string }, prompted())).status).to.equal(200)
    const untold = { ...told, cost_micro_usd: null }
    await gateway.db('calls').where({ account_id: id, model: 'sandbox-image' }).update(untold)
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('margins@example.com')
    await open('/operator/margins', 'Margins')
    const row = page.getByRole('row', { name: /margin-image/ })
    expect(await row.innerText()).to.match(/sandbox\s+2\s+80\s+unknown\s+\$0\.0125 \+ 1 unknown call\s+unknown/)
    await page.getByText('does not say what a credit is worth').waitFor()
    await page.locator('.chart canvas').waitFor()
    expect(await page.locator('.chart figcaption').innerText()).to.match(/Cost\s+\$\d/)
    const csv = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
    expect(decodeURIComponent(csv!)).to.contain(',margin-image,sandbox,2,80,,12500,1')
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('lets an operator end the secret of a key and one session of a customer, and records both', async () => {
    const customer = await gateway.person('helped@example.com', { credits: 100 })
    const { secret } = (
      await send('POST', `${gateway.url}/api/keys`, { key: customer.token, body: { name: 'server' } })
    ).json
    const second = await send('POST', `${gateway.url}/api/auth/login`, {
      body: { email: customer.email, password: PASSWORD },
    })
    await gateway.person('helper@example.com', { admin: true })
    const { page, signIn, open, faults, close } = await visit(browser, gateway)
    await signIn('helper@example.com')
    await open(`/operator/accounts/${publicId('account', customer.id)}`, 'Account')
    await page.getByRole('button', { name: 'Rotate server' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End secret' }).click()
    await page.getByText('secret ended').waitFor()
    const statusOf = async (key: string): Promise<number> => (await get(`${gateway.url}/v1/models`, key)).status
    expect(await statusOf(secret as string)).to.equal(401)
    expect(await page.content()).not.to.match(/tg_[0-9A-Za-z]{40}/)

    const sessions = page.getByRole('region', { name: 'Sessions' }).locator('tbody tr')
    await until('two sessions are listed', async () => (await sessions.count()) === 2)
    await sessions
      .first()
      .getByRole('button', { name: /^End the session of/ })
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
    await until('one session is left', async () => (await sessions.count()) === 1)
    const alive = async (token: string): Promise<number> => (await get(`${gateway.url}/api/auth/me`, token)).status
    expect([await alive(second.json.token as string), await alive(customer.token)]).to.deep.equal([401, 200])
    const changes = page.getByRole('region', { name: 'Audit' })
    for (const change of ['Rotated a key', 'Ended sessions']) await changes.getByText(change).first().waitFor()
    expect(faults()).to.deep.equal([])
    await close()
  })

  it('has its sections in a menu on a phone, which closes when one is opened', async () => {
    await gateway.person('menu@example.com', { admin: true })
    const { page, signIn, open, close } = await visit(browser, gateway, { viewport: { width: 360, height: 740 } })
    await signIn('menu@example.com')
    await open('/operator/debts', 'Debts')
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await sections.waitFor({ state: 'hidden' })
    await page.getByText('Section: Debts').click()
    await sections.waitFor()
    await fitsTheScreen(page)
    expect(await page.evaluate('document.querySelector(".strip").scrollWidth')).to.equal(
      await page.evaluate('document.querySelector(".strip").clientWidth'),
    )
    expect(await sections.locator('[aria-current]').innerText()).to.equal('Debts')
    await sections.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    await sections.waitFor({ state: 'hidden' })
    await page.getByText('Section: Audit').waitFor()
    await close()
  })

  it('has its sections in one row on a tablet, and spells the prices of a model', async () => {
    await gateway.person('tablet@example.com', { admin: true })
    const { page, signIn, open, close } = await visit(browser, gateway, { viewport: { width: 834, height: 1112 } })
    await signIn('tablet@example.com')
    await open('/operator/catalogue', 'Catalogue')
    await page.getByLabel('sandbox-chat Cached input', { exact: true }).waitFor()
    await fitsTheScreen(page)
    await holds(
      page,
      `new Set([...document.querySelectorAll('.strip a')].map((link) => link.getBoundingClientRect().top)).size === 1`,
    )
    await close()
  })
})
