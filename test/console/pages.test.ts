import { expect } from 'chai'
import { createKey } from '../../src/shared/identity/api-keys.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { INSIDE, OUTSIDE, liveIn, settled } from './support/every-page.ts'
import type { ConsolePage, LivedIn } from './support/every-page.ts'
import { consoleWithPages } from './support/pages.ts'
import type { Visit } from './support/visit.ts'
import { PHONE, fitsTheScreen, seriousFaults, holds } from './support/visit.ts'

const SCREENS = [PHONE, { width: 834, height: 1112 }, { width: 1440, height: 900 }]

const EMAIL = 'pages@example.com'

describe('the pages of the console', () => {
  const gateway = consoleWithPages()
  let lived: LivedIn
  let visited: Visit
  before(async () => {
    lived = await liveIn(gateway, EMAIL)
    visited = await gateway.longVisit()
  })

  const looks = ({ path, heading, typed }: ConsolePage, how: 'open' | 'follow'): void => {
    it(`has no serious fault in light and dark, fits three widths, and shows text as text: ${path}`, async () => {
      const { page, faults } = visited
      await page.emulateMedia({ colorScheme: 'light' })
      await visited[how](lived.address(path), heading)
      await settled(page)
      if (typed) await page.getByText(typed).first().waitFor()
      await holds(page, `document.title === '${heading} · Tollgate'`)
      for (const screen of SCREENS) {
        await page.setViewportSize(screen)
        await fitsTheScreen(page)
      }
      expect(await seriousFaults(page)).to.deep.equal([])
      // Colours are all that a theme changes.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('html[data-theme=dark]').waitFor()
      await page.setViewportSize(PHONE)
      expect(await seriousFaults(page, ['color-contrast']), 'dark, on a phone').to.deep.equal([])
      expect(faults()).to.deep.equal([])
    })
  }

  OUTSIDE.forEach((one) => looks(one, 'open'))

  describe('that ask for a session', () => {
    before(async () => {
      await gateway.signIn(visited, EMAIL)
      await visited.open('/settings', 'Settings')
    })

    // One document for all: languages.test.ts opens each by its address.
    INSIDE.forEach((one) => looks(one, 'follow'))
  })

  it('show the debt of an account to its owner and to operators, until it is repaid', async () => {
    const person = await gateway.person('owing@example.com', { credits: 1250 })
    const { id: keyId } = await createKey(gateway.db, person.id, 'owing')
    const calls = verbs(gateway.db)
    await calls.settle(await opened(calls, { id: person.id, keyId }, 1250), 'image', aResult(2500))
    const { page, open } = await gateway.signedIn(person.email)
    await open('/overview', 'Overview')
    await page.getByText('1,250 credits owed').waitFor()
    await open('/credits', 'Credits')
    await page.getByTestId('debt').getByText('You owe 1,250 credits.').waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    const file = `${gateway.url}/api/operator/accounts/${publicId('account', person.id)}`
    await post(`${file}/grants`, lived.token, { amount: 250, origin: 'bonus' })
    await page.getByText('You owe 1,000 credits.').waitFor()
    await page.getByText('Debt repaid').first().waitFor()
    const operator = await gateway.signedIn(EMAIL)
    await operator.open(`/operator/accounts/${publicId('account', person.id)}`, 'Account')
    await operator.page.getByTestId('account-debt').getByText('1,000 credits').waitFor()
    await post(`${file}/grants`, lived.token, { amount: 1001, origin: 'bonus' })
    await page.getByTestId('debt').waitFor({ state: 'detached' })
  })

  it('say when a page is for operators, and when a call does not exist', async () => {
    const { page, open, allow } = await gateway.signedIn('plain@example.com')
    await open('/overview', 'Overview')
    expect(await page.getByRole('link', { name: 'Operator' }).count()).to.equal(0)
    await open('/operator', 'Operator')
    await page.getByText('This page is for operators').waitFor()
    await open(`/calls/${lived.call}`, 'Calls')
    await page.getByText('There is no such call in your account').waitFor()
    allow(/404/)
  })

  it('work with the keyboard alone: skip link, drawer, and back to the row', async () => {
    const { page, open } = await gateway.signedIn(EMAIL)
    await open('/calls', 'Calls')
    await settled(page)
    await page.keyboard.press('Tab')
    await holds(page, `document.activeElement.textContent === 'Skip to content'`)
    await page.keyboard.press('Enter')
    const row = page.locator('tbody a').first()
    const focused = (): Promise<string | null> => page.evaluate('document.activeElement.getAttribute("href")')
    const first = await row.getAttribute('href')
    await until('the first call has the focus', async () => {
      await page.keyboard.press('Tab')
      return (await focused()) === first
    })
    await page.keyboard.press('Enter')
    await page.getByTestId('trail').waitFor()
    await holds(page, `document.activeElement.closest('dialog') !== null`)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await until('the row has the focus again', async () => (await focused()) === first)
  })

  it('keep the filters of the calls in the address, for links and the back button', async () => {
    const { page, open } = await gateway.signedIn(EMAIL)
    await open('/calls', 'Calls')
    await settled(page)
    await page.getByLabel('Status').selectOption('failed')
    await until('one call is left', async () => (await page.locator('tbody tr').count()) === 1)
    await page.waitForURL(`${gateway.url}/calls?status=failed`)
    await page.reload()
    await page.locator('tbody tr').waitFor()
    expect(await page.getByLabel('Status').inputValue()).to.equal('failed')
    await page.goBack()
    await until('all calls are back', async () => (await page.locator('tbody tr').count()) === 3)
  })

  it('say that the server is unreachable, and retry on request', async () => {
    const { page, open, allow } = await gateway.signedIn(EMAIL)
    await open('/models', 'Models')
    allow(/ERR_INTERNET_DISCONNECTED/)
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('tbody tr').waitFor()
    await until('no alert is left', async () => (await page.getByRole('alert').count()) === 0)
  })
})
