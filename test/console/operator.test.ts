import { expect } from 'chai'
import { ownLimits } from '../../src/shared/identity/account-limits.ts'
import { newId, publicId } from '../../src/shared/platform/ids.ts'
import { requestMail } from '../../src/shared/mail/mails.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { image, prompted } from '../../scripts/harness/calling.ts'
import { get, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { seriousFaults } from './support/visit.ts'

const CHIEF = 'chief@example.com'
const GROUPS = { partner: { priceBasisPoints: 3335, models: ['sandbox-image', 'sandbox-chat'] } }

describe("the operator's pages", () => {
  const gateway = consoleWithPages(() =>
    startConsoleGateway({}, (catalogue) => Object.assign(catalogue, { groups: GROUPS })),
  )

  it('lets an operator retry a dead letter', async () => {
    const email = 'lost@example.com'
    await gateway.person(email)
    await gateway.link(email)
    const id = newId('mail')
    const given = { status: 'dead', tries: 8, note: '<b>451</b> try later', finished_at: gateway.db.fn.now() }
    // Together, so that no worker finds it queued.
    await gateway.db.transaction(async (trx) => {
      await requestMail(trx, { id, kind: 'reset', recipient: email, userId: null })
      await trx('mails').where({ id }).update(given)
    })
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open('/operator/mails', 'Undelivered e-mails')
    const row = page.locator('tbody tr', { hasText: email })
    expect(await row.innerText()).to.contain('<b>451</b> try later')
    await page.getByRole('button', { name: `Retry the e-mail to ${email}` }).click()
    await row.waitFor({ state: 'detached' })
    expect(await gateway.link(email, 2)).to.contain('/reset#token=')
    await page.getByRole('link', { name: 'Audit' }).click()
    const action = page.locator('tbody tr', { hasText: 'Retried an e-mail' })
    expect(await action.innerText()).to.contain(CHIEF)
  })

  it('shows operators what calls brought in and what they cost, and says what is unknown', async () => {
    const { id, secret } = await gateway.customer('margins@example.com', 1000)
    const buy = async () => expect((await image(gateway, { key: secret }, prompted())).status).to.equal(200)
    await buy()
    const told = { cost_micro_usd: 12_500, model: 'margin-image', price_version: null }
    await gateway.db('calls').where({ account_id: id }).update(told)
    await buy()
    const untold = { ...told, cost_micro_usd: null }
    await gateway.db('calls').where({ account_id: id, model: 'sandbox-image' }).update(untold)
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open('/operator/margins', 'Margins')
    const row = page.getByRole('row', { name: /margin-image/ })
    expect(await row.innerText()).to.match(/sandbox\s+2\s+80\s+unknown\s+\$0\.0125 \+ 1 unknown call\s+unknown/)
    await page.getByText('does not say what a credit is worth').waitFor()
    await page.locator('.chart canvas').waitFor()
    expect(await page.locator('.chart figcaption').innerText()).to.match(/Cost\s+\$\d/)
    const csv = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
    expect(decodeURIComponent(csv!)).to.contain(',margin-image,sandbox,2,80,,12500,1')
  })

  it('lets an operator end the secret of a key and one session of a customer, and records both', async () => {
    const email = 'helped@example.com'
    const customer = await gateway.customer(email, 100)
    const second = await send('POST', `${gateway.url}/api/auth/login`, { body: { email, password: PASSWORD } })
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open(`/operator/accounts/${publicId('account', customer.id)}`, 'Account')
    await page.getByRole('button', { name: 'Rotate test' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End secret' }).click()
    await page.getByText('secret ended').waitFor()
    const statusOf = async (key: string): Promise<number> => (await get(`${gateway.url}/v1/models`, key)).status
    expect(await statusOf(customer.secret)).to.equal(401)
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
  })

  it('lets an operator find an account, grant credits and suspend it, and shows what was done', async () => {
    const customer = await gateway.person('customer@example.com')
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open('/overview', 'Overview')
    await page.getByRole('link', { name: 'Operator' }).click()
    await page.getByRole('link', { name: 'Accounts', exact: true }).click()
    const joined = page.getByRole('columnheader', { name: 'Joined' })
    for (const direction of ['descending', 'ascending']) {
      await joined.getByRole('button').click()
      await until(direction, async () => (await joined.getAttribute('aria-sort')) === direction)
    }
    await page.waitForURL(/sort=oldest/)
    await page.getByLabel('Find an account').fill('customer@')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('link', { name: customer.email }).click()
    const grant = page.locator('section', { has: page.getByRole('heading', { name: 'Grant credits' }) }).last()
    await grant.getByLabel('Amount').fill('750')
    await grant.getByLabel('Note').fill('welcome')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByText('Granted. The balance of customer@example.com is 750 credits.').waitFor()
    await page.getByRole('button', { name: 'Suspend', exact: true }).click()
    await page.getByRole('button', { name: 'Suspend account' }).click()
    await page.getByRole('button', { name: 'Activate', exact: true }).waitFor()
    expect((await get(`${gateway.url}/api/account`, customer.token)).status).to.equal(401)
    await page.getByRole('link', { name: 'Audit' }).click()
    const rows = page.locator('tbody tr', { hasText: customer.email })
    await rows.first().waitFor()
    expect(await rows.locator('td:nth-child(3)').allInnerTexts()).to.deep.equal([
      'Suspended',
      'Granted credits',
      'Viewed an account',
    ])
    expect(await rows.nth(1).innerText())
      .to.contain(CHIEF)
      .and.to.contain('welcome')
    await expectBooksToBalance(gateway.db)
  })

  it('lets an operator limit an account, and put it into a group, whose models and prices its owner sees', async () => {
    const { id } = await gateway.person('limited@example.com')
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open(`/operator/accounts/${publicId('account', id)}`, 'Account')
    await page.getByLabel('Requests per minute').fill('600')
    await page.getByLabel('Tokens per minute').fill('90000')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Changed limits').waitFor()
    const limits = { rateLimit: 600, maxOutstanding: null, tokensPerMinute: 90_000 }
    expect(await ownLimits(gateway.db, id)).to.deep.equal(limits)
    await page.reload()
    expect(await page.getByLabel('Requests per minute').inputValue()).to.equal('600')
    await page.getByLabel('Requests per minute').fill('')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await until('it is lifted', async () => (await ownLimits(gateway.db, id))!.rateLimit === null)
    expect(await ownLimits(gateway.db, id)).to.deep.equal({ ...limits, rateLimit: null })

    await page.getByTestId('account-group').getByText('none').waitFor()
    await page.getByRole('button', { name: 'Change group' }).click()
    await page.getByRole('dialog').getByLabel('Group').selectOption('partner')
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByTestId('account-group').getByText('partner').waitFor()
    await page.getByText('Changed the group').waitFor()
    await open('/operator/margins', 'Margins')
    await page.getByLabel('By group of customers').check()
    await open('/operator/catalogue', 'Catalogue')
    await page.getByLabel('Group partner Price basis points').fill('5000')
    expect(await page.getByLabel('As JSON').inputValue()).to.contain('"priceBasisPoints": 5000')

    const owner = await gateway.signedIn('limited@example.com')
    await owner.open('/models', 'Models')
    const list = owner.page.locator('main')
    await list.getByText('14 credits per image').waitFor()
    await list.getByText('333.5 credits in · 1,000.5 credits out per 1M tokens').waitFor()
    expect(await list.innerText()).not.to.contain('sandbox-video')
  })
})
