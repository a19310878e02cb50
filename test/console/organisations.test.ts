import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PASSWORD } from '../../scripts/harness/console-gateway.ts'
import { proveAddress } from '../../scripts/harness/factories.ts'
import { imageBody } from '../../scripts/harness/calling.ts'
import { post, send } from '../../scripts/harness/http.ts'
import { eventually, until } from '../../scripts/harness/until.ts'
import { addMember } from '../../src/shared/identity/members.ts'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import { newId, parseId } from '../../src/shared/platform/ids.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceIs } from './support/shop.ts'
import { consoleWithPages, fillSignIn } from './support/pages.ts'
import type { Visit } from './support/visit.ts'
import { PHONE, fitsTheScreen, looksGood } from './support/visit.ts'

const ORGANISATION = 'Analytical Engines'

describe('organisations in the console', () => {
  const gateway = consoleWithPages()

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

  /** Waits until the account menu says for which organisation its user acts. */
  const actingFor = (page: Page, name: string) => page.locator('.account summary', { hasText: `, ${name}` }).waitFor()

  /** The names of the pages in the menu. */
  async function pagesOf(page: Page): Promise<string[]> {
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.click()
    const names = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
    await menu.click()
    return names.map((name) => name.trim())
  }

  /** Acts for another account, by its name in the menu. */
  async function switchTo(page: Page, name: string): Promise<void> {
    await page.locator('.account summary').click()
    await page.getByRole('region', { name: 'Accounts' }).getByRole('button', { name }).click()
    await page.locator('.account[open]').waitFor({ state: 'detached' })
    await heading(page, 'Overview')
  }

  const give = (accountId: AccountId, amount: number) =>
    gateway.db.transaction((trx) => grant(trx, { id: newId('grant'), accountId, origin: 'purchase', amount }))

  /** An organisation of two people. The owner's token acts for it. */
  async function team(name: string) {
    const owner = await gateway.person(`owner-of-${name}@example.com`, { credits: 77 })
    const member = await gateway.person(`member-of-${name}@example.com`)
    await proveAddress(gateway.db, owner)
    const { organisation } = (await post(`${gateway.url}/api/organisations`, owner.token, { name })).json
    await post(`${gateway.url}/api/auth/switch`, owner.token, { account: organisation.id })
    const account = parseId('account', organisation.id as string)!
    const { id: userId } = (await findUserByEmail(gateway.db, member.email))!
    await gateway.db.transaction((trx) => addMember(trx, { userId, accountId: account }, 'member'))
    return { owner, member, account }
  }

  async function found({ page }: Visit): Promise<void> {
    await page.locator('.account summary').click()
    await page.getByRole('region', { name: 'Accounts' }).getByText('Personal account').waitFor()
    await looksGood(page)
    await page.getByRole('button', { name: 'New organisation' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(' ')
    await dialog.getByRole('button', { name: 'Create organisation' }).click()
    await dialog.getByText(/^Name must/).waitFor()
    await looksGood(page)
    await dialog.getByLabel('Name').fill(ORGANISATION)
    await dialog.getByRole('button', { name: 'Create organisation' }).click()
    await heading(page, 'Members')
    await page.getByText('Nobody is invited').waitFor()
  }

  async function invite({ page }: Visit, email: string): Promise<void> {
    await page.getByRole('button', { name: 'Invite somebody' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('nobody')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.locator('.fault').waitFor()
    await looksGood(page)
    await dialog.getByLabel('E-mail address').fill(email)
    await dialog.getByLabel('Budget (credits)').fill('50')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Invitations' }).getByText('50 credits each month').waitFor()
    await fitsTheScreen(page)
  }

  /** Opens the mailed link, registers, comes back and accepts. */
  async function join({ page }: Visit, email: string): Promise<void> {
    await page.goto(await gateway.link(email))
    await heading(page, `Join ${ORGANISATION}`)
    await page.getByText(`invites ${email}`).waitFor()
    expect(page.url()).not.to.contain('token')
    await looksGood(page)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Create an account' }).click()
    expect(await page.getByLabel('E-mail address').inputValue()).to.equal(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create my account' }).click()
    await page.getByText(`You are signed in as ${email}`).waitFor()
    await fitsTheScreen(page)
    await page.getByRole('button', { name: 'Accept the invitation' }).click()
    await heading(page, 'Overview')
    await actingFor(page, ORGANISATION)
    await balanceIs(page, '1,000')
    await page.getByText('Left of your budget').waitFor()
    await page.getByText('Acting for').waitFor()
  }

  /** What a member finds, and what they do not. */
  async function lookAround({ page, open }: Visit): Promise<void> {
    expect(await pagesOf(page))
      .to.include('Members')
      .and.not.include('Credits')
      .and.not.include('Webhooks')
    for (const title of ['Credits', 'Webhooks']) {
      await open(`/${title.toLowerCase()}`, title)
      await page.getByText('This page is for the owner and admins').waitFor()
    }
    await fitsTheScreen(page)
    await open('/playground/image', 'Playground')
    await page.getByLabel('Images', { exact: true }).selectOption('2')
    await page.getByTestId('ceiling').getByText('Your budget has 50 left, so the call would be refused.').waitFor()
    await open('/settings', 'Settings')
    await page.getByText('Switch to your personal account to delete it').waitFor()
    await open('/overview', 'Overview')
    await page.getByText('Ask the owner or an admin for credits').or(page.getByText('First steps')).first().waitFor()
  }

  /** Makes a key, and spends the member's budget with it. @returns its secret */
  async function spend({ page, open }: Visit): Promise<string> {
    await open('/keys', 'Keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Create key' }).click()
    const secret = await page.getByTestId('secret').locator('code').innerText()
    await page.getByRole('button', { name: 'Done' }).click()
    const call = () => post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
    expect((await call()).status).to.equal(200)
    const { status, json } = await call()
    expect([status, json.error.code]).to.deep.equal([402, 'member_budget_exceeded'])
    return secret
  }

  async function leave({ page, open }: Visit, secret: string): Promise<void> {
    await open('/members', 'Members')
    const rows = page.getByRole('region', { name: 'Members' }).getByRole('row')
    await page.getByText('40 of 50 credits each month').waitFor()
    await page.getByText(/10 left/).waitFor()
    // The header, and themselves alone.
    expect(await rows.count()).to.equal(2)
    await page.getByRole('button', { name: 'Leave organisation…' }).click()
    await looksGood(page)
    await page.getByRole('button', { name: 'Leave', exact: true }).click()
    await heading(page, 'Sign in')
    await page.getByText(`You have left ${ORGANISATION}.`).waitFor()
    await until('the key is refused', async () => {
      const { status } = await post(`${gateway.url}/v1/images/generations`, secret, imageBody('a fox'))
      return status === 401
    })
  }

  /** What the owner sees of the member's use. */
  async function account({ page, open }: Visit, email: string): Promise<void> {
    await open('/overview?by=member', 'Overview')
    await page.getByTestId('totals').getByRole('link', { name: email }).waitFor()
    await fitsTheScreen(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('tollgate-members.csv')
    await page.getByTestId('totals').getByRole('link', { name: email }).click()
    await heading(page, 'Calls')
    await until('the member’s calls are listed', async () => (await page.locator('tbody tr').count()) >= 1)
    await fitsTheScreen(page)
    await open('/keys', 'Keys')
    await page.getByRole('region', { name: 'Keys' }).getByText(email).waitFor()
    expect(await page.getByRole('button', { name: 'Rotate laptop' }).count()).to.equal(0)
    await page.getByRole('button', { name: 'Revoke laptop' }).waitFor()
    await fitsTheScreen(page)
  }

  it('are founded, joined by a mailed link, limited, used, accounted for and left, on a phone', async () => {
    const email = 'invited@example.com'
    const owner = await gateway.person('founder@example.com')
    await proveAddress(gateway.db, owner)
    const owning = await gateway.signedIn(owner.email, { viewport: PHONE })
    const joining = await gateway.visit({ viewport: PHONE })
    await owning.open('/overview', 'Overview')
    await found(owning)
    const organisation = await gateway.db('accounts').where({ name: ORGANISATION }).first<{ id: AccountId }>('id')
    await give(organisation.id, 1000)
    await invite(owning, email)
    await join(joining, email)
    await lookAround(joining)
    const secret = await spend(joining)
    await account(owning, email)
    await leave(joining, secret)
    await owning.open('/members', 'Members')
    await until('one member is left', async () => (await owning.page.getByText(email).count()) === 0)
    owning.allow(/400|Failed to load/)
    joining.allow(/Failed to load/)
    await expectBooksToBalance(gateway.db)
    // It opens some forty pages.
  }).timeout(150_000)

  it('tell a user with another mailbox that an invitation is not theirs', async () => {
    const { owner } = await team('mailboxes')
    await post(`${gateway.url}/api/invitations`, owner.token, { email: 'third@example.com', role: 'admin' })
    const { page, allow } = await gateway.signedIn('fourth@example.com', { viewport: PHONE })
    allow(/400/)
    await page.goto(await gateway.link('third@example.com'))
    await page.getByText('The invitation is for third@example.com').waitFor()
    await looksGood(page)
    await page.getByRole('button', { name: 'Accept the invitation' }).click()
    await heading(page, 'You cannot use this invitation')
    await page.getByText('You are signed in as fourth@example.com').waitFor()
    await fitsTheScreen(page)
    await page.getByRole('button', { name: 'Use another account' }).click()
    await heading(page, 'Sign in')
  })

  it('have nothing of one account shown or kept for another, in any tab', async () => {
    const { owner } = await team('tabs')
    const { page, open } = await gateway.visit()
    await open('/sign-in', 'Sign in')
    await fillSignIn({ page }, owner.email, true)
    await balanceIs(page, '77')
    const other = await page.context().newPage()
    await other.goto(`${gateway.url}/playground/chat`)
    await other.getByLabel('Message').fill('hi')
    await other.getByLabel('Message').press('Enter')
    await other.getByTestId('receipt').waitFor()
    const keptKey = () => other.evaluate<string | null>("sessionStorage.getItem('tollgate.playground-key')")
    expect(await keptKey()).to.match(/^tg_/)
    await switchTo(page, 'tabs')
    await balanceIs(page, '0')
    await balanceIs(other, '0')
    // The other tab is loaded anew meanwhile.
    await eventually(async () => {
      expect(await keptKey()).to.equal(null)
    })
    expect(await other.getByText('hi', { exact: true }).count()).to.equal(0)
    const { json } = await send('GET', `${gateway.url}/api/keys`, { key: owner.token })
    expect(json.data, 'keys of the organisation').to.deep.equal([])
    await switchTo(page, 'Personal account')
    await other.locator('.account summary', { hasText: /^Account owner-of-tabs@example\.comO$/ }).waitFor()
  })

  it('are handed over with the password, and deleted by their owner with name and password', async () => {
    const { owner, member, account } = await team('heirs')
    const { page, open, allow } = await gateway.signedIn(owner.email, { account })
    allow(/400/)
    await open('/members', 'Members')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: `Change ${member.email}` }).click()
    await dialog.getByLabel('Role').selectOption('admin')
    await dialog.getByLabel('Budget (credits)').fill('9')
    await dialog.getByRole('button', { name: 'Save member' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('0 of 9 credits each month').waitFor()
    await page.getByRole('button', { name: `Make owner: ${member.email}` }).click()
    await dialog.getByLabel('Your password').fill('wrong horse 2')
    await dialog.getByRole('button', { name: 'Hand over' }).click()
    await dialog.locator('.fault').waitFor()
    await looksGood(page)
    await dialog.getByLabel('Your password').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Hand over' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Leave organisation…' }).waitFor()

    const heir = await gateway.signedIn(member.email, { account, viewport: PHONE })
    heir.allow(/400/)
    await heir.open('/members', 'Members')
    const ending = heir.page.getByRole('dialog')
    await heir.page.getByRole('button', { name: 'Delete organisation…' }).click()
    await ending.getByLabel('Name of the organisation').fill('hares')
    await ending.getByLabel('Your password').fill(PASSWORD)
    await ending.getByRole('button', { name: 'Delete organisation' }).click()
    await ending.getByText(/^Name of the organisation must/).waitFor()
    await looksGood(heir.page)
    await ending.getByLabel('Name of the organisation').fill('heirs')
    await ending.getByRole('button', { name: 'Delete organisation' }).click()
    await heir.page.getByText('heirs has been deleted.').waitFor()
  })
})
