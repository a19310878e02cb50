import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { readVersion } from '../../src/shared/catalogue/versions.ts'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { ownLimits } from '../../src/shared/identity/account-limits.ts'
import { newId, publicId } from '../../src/shared/platform/ids.ts'
import { requestMail } from '../../src/shared/mail/mails.ts'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { image, imageBody, prompted } from '../../scripts/harness/calling.ts'
import { get, post, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import { PHONE, fitsTheScreen, looksGood, seriousFaults } from './support/visit.ts'

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

  it('lets an operator limit an account, and put it into a group, whose models and prices its owner sees', async () => {
    const { id } = await gateway.person('limited@example.com')
    const { page, open } = await gateway.signedIn(CHIEF, { admin: true })
    await open('/operator/accounts', 'Accounts')
    const joined = page.getByRole('columnheader', { name: 'Joined' })
    for (const direction of ['descending', 'ascending']) {
      await joined.getByRole('button').click()
      await until(direction, async () => (await joined.getAttribute('aria-sort')) === direction)
    }
    await page.waitForURL(/sort=oldest/)
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

  /** Whether a page that was just opened shows the banner; it asks for it after all else. */
  const showsBanner = (page: Page): Promise<boolean> =>
    page
      .getByTestId('banner')
      .waitFor({ timeout: 2000 })
      .then(
        () => true,
        () => false,
      )

  /** Opens a section by the menu, which closes then. */
  async function section(page: Page, name: string): Promise<void> {
    const sections = page.getByRole('navigation', { name: 'Sections' })
    await sections.waitFor({ state: 'hidden' })
    await page.getByText(/^Section: /).click()
    await sections.waitFor()
    await fitsTheScreen(page)
    const [inner, outer] = await page.evaluate<number[]>(
      '[document.querySelector(".strip").scrollWidth, document.querySelector(".strip").clientWidth]',
    )
    expect(inner).to.equal(outer)
    await sections.getByRole('link', { name, exact: true }).click()
    await sections.waitFor({ state: 'hidden' })
    await page.getByText(`Section: ${name}`).waitFor()
  }

  it('leads on a phone from a customer, who is granted credits, deducted some and suspended, to a banner', async () => {
    const email = 'bought@example.com'
    const boss = 'boss@example.com'
    const { secret, token: customer } = await gateway.customer(email, 600)
    const spent = await post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
    const left = spent.json.usage.balance as number
    const credited = (amount: number): string => `${amount.toLocaleString('en')} credits`
    const { page, open, allow } = await gateway.signedIn(boss, {
      admin: true,
      viewport: PHONE,
    })
    // The refused deductions are what the browser writes of them.
    allow(/4(00|09) \(/)
    const panel = (name: string) => page.locator('section', { has: page.getByRole('heading', { name }) }).last()

    // Home: every number leads to its page.
    await open('/operator', 'Operator home')
    await page.getByRole('link', { name: /^Credits used/ }).waitFor()
    await page.getByRole('region', { name: 'Upstreams' }).getByText('sandbox').first().waitFor()
    await fitsTheScreen(page)
    await page.getByRole('link', { name: /^Outstanding/ }).click()

    // Find.
    await page.getByLabel('Find an account').fill(email.slice(0, -8))
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('region', { name: 'Accounts' }).getByRole('link', { name: email }).click()
    const balance = page.getByTestId('account-balance')
    await balance.getByText(credited(left)).waitFor()

    // Look: the ledger leads to the call, whose trail is the customer's own.
    await fitsTheScreen(page)
    await page.getByTestId('ledger').getByRole('link', { name: /^call/ }).first().click()
    await page.getByTestId('trail').getByText('Settled').waitFor()
    await fitsTheScreen(page)
    await page.getByRole('dialog').getByRole('link', { name: email }).click()

    // Grant.
    const grant = panel('Grant credits')
    await grant.getByLabel('Amount').fill('750')
    await grant.getByLabel('Note').fill('welcome')
    await page.getByRole('button', { name: 'Grant', exact: true }).click()
    await page.getByText(`Granted. The balance of ${email} is ${credited(left + 750)}.`).waitFor()

    // Deduct: a fault is next to its field, in words.
    const deduct = panel('Deduct credits')
    const press = () => deduct.getByRole('button', { name: 'Deduct' }).click()
    await deduct.getByLabel('Amount').fill('0')
    await deduct.getByLabel('Reason').fill('granted twice')
    await press()
    await deduct.getByText('Amount must be at least 1').waitFor()
    await deduct.getByLabel('Amount').fill('2000')
    await press()
    await deduct.getByText(`The account can spend ${left + 750} credits.`).waitFor()
    await deduct.getByLabel('Let credits that are already spent become debt').waitFor()
    await deduct.getByLabel('Amount').fill('60')
    await press()
    await deduct.getByText('Deducted 60 credits.').waitFor()
    await balance.getByText(credited(left + 690)).waitFor()
    await page.getByTestId('ledger').getByText('granted twice').waitFor()

    const account = page.url()

    // A banner, which is seen without signing in, and dismissed for good in one browser.
    await section(page, 'Banner')
    await page.getByLabel('Text').fill('Prices change on Monday')
    await page.getByLabel('Level').selectOption('warning')
    await page.getByRole('button', { name: 'Set the banner' }).click()
    await page.getByTestId('set-banner').waitFor()
    const guest = await gateway.visit({ viewport: PHONE })
    await until('everybody sees the banner', async () => {
      await guest.open('/sign-in', 'Sign in')
      return showsBanner(guest.page)
    })
    await guest.page.getByRole('button', { name: 'Dismiss' }).click()
    await guest.page.getByTestId('banner').waitFor({ state: 'detached' })
    await fillSignIn(guest, email)
    await guest.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await guest.page.getByTestId('banner').count(), 'dismissed').to.equal(0)
    await until('the operator sees the banner', async () => {
      await open('/operator/banner', 'Banner')
      return showsBanner(page)
    })
    await looksGood(page)
    await page.getByRole('button', { name: 'Remove the banner' }).click()
    await page.getByText('No banner is set').waitFor()

    // Suspend.
    await page.goto(account)
    await page.getByRole('button', { name: 'Suspend', exact: true }).click()
    await page.getByRole('button', { name: 'Suspend account' }).click()
    await page.getByRole('button', { name: 'Activate', exact: true }).waitFor()
    expect((await get(`${gateway.url}/api/account`, customer)).status).to.equal(401)

    // All of it is in the audit log.
    await section(page, 'Audit')
    const granted = page.getByRole('region', { name: 'Audit' }).locator('tbody tr', { hasText: 'welcome' })
    expect(await granted.innerText())
      .to.contain(boss)
      .and.to.contain(email)
    const { token } = await gateway.person('auditor@example.com', { admin: true })
    const { json } = await get(`${gateway.url}/api/operator/actions?operator=${boss}`, token)
    type Done = { action: string; details: { list?: string } }
    const done = (json.data as Done[]).filter(({ details }) => details.list === undefined)
    expect(done.map(({ action }) => action)).to.deep.equal(
      'account_suspended banner_removed banner_set credits_deducted credits_granted account_viewed'.split(' '),
    )
    await fitsTheScreen(page)
    await expectBooksToBalance(gateway.db)
    // It opens every page.
  }).timeout(150_000)

  it('lets an operator change a price by a difference, survives a conflict, and rolls back', async () => {
    const customer = await anAccount(gateway.db, 100)
    const listed = async (): Promise<unknown> => {
      const { json } = await get(`${gateway.url}/v1/models`, customer.key)
      return (json.data as { id: string; credits: number }[]).find(({ id }) => id === 'sandbox-image')!.credits
    }
    const first = (await readVersion(gateway.db, 'newest'))!.version
    const { page, open, allow } = await gateway.signedIn('prices@example.com', { admin: true })
    await open('/operator/catalogue', 'Catalogue')
    const credits = page.getByLabel('sandbox-image credits')
    const source = page.getByLabel('As JSON')
    const findings = page.getByTestId('findings')
    const compare = page.getByRole('button', { name: 'Check and compare' })

    // Every mistake is told with its model, and nothing can be applied.
    await credits.fill('-4')
    await source.fill((await source.inputValue()).replace('"gpt-sandbox"', '""'))
    await compare.click()
    await findings.getByText('Model sandbox-image:').waitFor()
    expect(await findings.innerText()).to.match(/Model sandbox-chat, upstream \w+: model/)
    expect(await page.getByRole('button', { name: /^Apply/ }).count()).to.equal(0)

    // The form writes into the text, and the text into the form.
    await page.reload()
    await credits.fill('55')
    expect(await source.inputValue()).to.contain('"credits": 55')

    // Somebody else applies meanwhile.
    await compare.click()
    await findings.getByText('credits').first().waitFor()
    expect(await findings.locator('del').innerText()).to.equal('40')
    const theirs = structuredClone((await readVersion(gateway.db, 'newest'))!.content) as Catalogue
    theirs.models.find(({ id }) => id === 'sandbox-video')!['credits'] = 260
    await applyCatalogue(gateway.db, { content: theirs, source: 'command', operator: null, note: null, expect: null })
    await page.getByLabel('Note').fill('dearer pictures')
    await page.getByRole('button', { name: `Apply as version ${first + 1}` }).click()
    await page.getByRole('alert').getByText('sandbox-video credits: 250 → 260').waitFor()
    expect(await credits.inputValue(), 'what was typed is still there').to.equal('55')
    expect((await readVersion(gateway.db, 'newest'))!.version).to.equal(first + 1)

    // Compared again: their change would be undone, so it is taken over before mine is applied.
    await page.getByLabel('sandbox-video credits').fill('260')
    await compare.click()
    await findings.getByText(`Compared with version ${first + 1}`).waitFor()
    expect(await findings.locator('ins').allInnerTexts()).to.deep.equal(['55'])
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByRole('button', { name: `Apply as version ${first + 2}` }).click()
    await page.getByRole('heading', { name: `Version ${first + 2}` }).waitFor()
    await until('the new price', async () => (await listed()) === 55)
    const row = page.locator('tbody tr', { hasText: 'dearer pictures' })
    expect(await row.innerText()).to.contain('prices@example.com')

    await page.getByRole('button', { name: `Roll back to version ${first}`, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('ins', { hasText: /^40$/ }).waitFor()
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()
    await page.getByRole('heading', { name: `Version ${first + 3}` }).waitFor()
    await until('the old price', async () => (await listed()) === 40)
    expect(await credits.inputValue()).to.equal('40')

    await page.setViewportSize({ width: 834, height: 1112 })
    await page.getByLabel('sandbox-chat Cached input', { exact: true }).waitFor()
    await fitsTheScreen(page)
    allow(/400|409/)
  })
})
