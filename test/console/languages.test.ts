import { expect } from 'chai'
import { PASSWORD, startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import { grantCredits } from '../../src/shared/operators/changes.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import { chinese } from '../../src/console/language/chinese.ts'
import { english } from '../../src/console/language/english.ts'
import { providerSettings } from '../api/console/support/provider.ts'
import { INSIDE, OUTSIDE, liveIn, settled } from './support/every-page.ts'
import type { LivedIn } from './support/every-page.ts'
import { consoleWithPages } from './support/pages.ts'
import { readsWell, untranslated } from './support/untranslated.ts'
import type { Visit } from './support/visit.ts'
import { PHONE, fitsTheScreen } from './support/visit.ts'

/** The names of all texts of a table that are the same in another one. */
const same = (one: object, other: object, path = ''): string[] =>
  Object.entries(one).flatMap(([name, text]) => {
    const translated = (other as Record<string, unknown>)[name]
    if (typeof text === 'object') return same(text as object, translated as object, `${path}${name}.`)
    return typeof text === 'string' && text === translated ? [`${path}${name}`] : []
  })

const WIDE = { width: 1440, height: 900 }

/** The browser of a reader in Chinese. */
const READER = { locale: 'zh-CN', timezoneId: 'UTC' } as const

describe('the languages of the console', () => {
  const providers = providerSettings([{ id: 'local', label: '本地', issuer: 'http://127.0.0.1:9' }])
  const gateway = consoleWithPages(() => startConsoleGateway(providers))

  it('have every text in Chinese, but for names', () => {
    expect(same(english, chinese)).to.deep.equal(
      (
        'frame.page.api frame.search.webhook webhooks.webhook operator.ones.webhooks ' +
        'catalogue.parts.setting catalogue.protocols.anthropic catalogue.protocols.fal ' +
        'catalogue.protocols.replicate catalogue.protocols.openrouter'
      ).split(' '),
    )
  })

  describe('in Chinese, on every page', () => {
    const EMAIL = 'reader@example.com'
    let lived: LivedIn
    let visited: Visit
    before(async () => {
      lived = await liveIn(gateway, EMAIL, 'zh-CN')
      visited = await gateway.longVisit({ locale: 'zh-CN', reducedMotion: 'reduce' })
    })

    const speaks = (path: string): void => {
      // Roles and colours are those in English: pages.test.ts.
      it(`leave nothing in English, and fit: ${path}`, async () => {
        const { page, faults, allow } = visited
        allow(/404.*\/nothing$/)
        await page.setViewportSize(WIDE)
        await page.goto(`${gateway.url}${lived.address(path)}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await settled(page)
        for (const screen of [WIDE, PHONE]) {
          await page.setViewportSize(screen)
          await fitsTheScreen(page)
          expect(await untranslated(page)).to.deep.equal([])
        }
        expect(faults()).to.deep.equal([])
      })
    }

    for (const { path } of OUTSIDE) speaks(path)

    describe('that ask for a session', () => {
      before(() => gateway.signIn(visited, EMAIL))

      for (const { path } of INSIDE) speaks(path)
      for (const path of ['/help', '/docs', '/operator/nothing', '/nothing', '/dev/mail']) speaks(path)
    })
  })

  it('lead from sign-up to a call and its receipt in Chinese, on a dark phone', async () => {
    const email = 'maker@example.com'
    const { page, open, allow } = await gateway.visit({ ...READER, viewport: PHONE, colorScheme: 'dark' })
    allow(/400 .*\/api\/keys$/)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const isFine = () => readsWell(page, chinese)
    const { entrance, frame, keys, playground, calls } = chinese
    await open('/sign-up', entrance.create)
    await page.getByLabel(entrance.email).fill(email)
    await page.getByLabel(entrance.password, { exact: true }).fill(PASSWORD)
    await press(entrance.createMine)
    await page.getByTestId('balance').waitFor()
    await isFine()
    await open('/dev/mail', chinese.models.mails)
    const mail = page.locator('.mail').filter({ hasText: email })
    await mail.getByText('验证您的 Tollgate 邮箱').waitFor()
    await mail.getByRole('link', { name: /verify#token=/ }).click()
    await press(entrance.verifyMine)
    await page.getByRole('heading', { level: 1, name: entrance.verified }).waitFor()
    await isFine()
    const { account_id: accountId } = (await findUserByEmail(gateway.db, email))!
    await grantCredits(gateway.db, null, { id: newId('grant'), accountId, amount: 1000, origin: 'bonus' })
    await open('/keys', frame.page.keys)
    await press(keys.new)
    await page.getByText('不选择则允许全部。').first().waitFor({ state: 'attached' })
    await press(keys.create)
    await page.getByText('名称').filter({ hasText: '为空' }).or(page.getByText('名称为必填项。')).waitFor()
    await isFine()
    await page.getByLabel(keys.columns.name).fill('laptop')
    await press(keys.create)
    await page.getByTestId('secret').waitFor()
    await isFine()
    await open('/playground/image', frame.page.playground)
    await page.getByLabel(playground.prompt).fill('a fox')
    await press(playground.generate('image'))
    await page.getByTestId('receipt').waitFor()
    await isFine()
    await page.getByTestId('receipt').getByRole('link').click()
    await page.getByTestId('receipt').getByText(calls.receipt.term).waitFor()
    await isFine()
  })

  it('are chosen in the settings, before that of the browser, until it is followed again', async () => {
    const { page, open } = await gateway.signedIn('chooser@example.com', { ...READER, language: 'zh-CN' })
    const settings = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await open('/settings', '设置')
    await page.getByLabel('语言').selectOption('English')
    await settings('Settings')
    await open('/keys', 'Keys')
    await open('/settings', 'Settings')
    await page.getByLabel('Language').selectOption('Match the browser')
    await settings('设置')
  })
  it('are those of the account on a device where nothing was chosen, and sort by the same addresses', async () => {
    const email = 'mover@example.com'
    const { token } = await gateway.person(email, { language: 'zh-CN' })
    for (const name of ['b', 'a']) await post(`${gateway.url}/api/keys`, token, { name })
    const { page, open } = await gateway.signedIn(email)
    const names = () => page.locator('tbody tr td:first-child').allInnerTexts()
    await open('/keys', chinese.frame.page.keys)
    await page.getByRole('button', { name: chinese.keys.columns.name, exact: true }).click()
    await page.waitForURL(/\?sort-rows=name$/)
    expect(await names()).to.deep.equal(['a', 'b'])
    await open('/settings', chinese.frame.page.settings)
    await page.getByLabel(chinese.settings.appearance.language).selectOption('browser')
    await page.getByRole('heading', { level: 1, name: english.frame.page.settings }).waitFor()
    await gateway.db('users').where({ email }).update({ language: 'zh-CN' })
    await open('/keys?sort-rows=-name', english.frame.page.keys)
    await page.getByRole('link', { name: english.frame.page.overview }).waitFor()
    expect(await names()).to.deep.equal(['b', 'a'])
    expect(await page.evaluate('document.documentElement.lang')).to.equal('en')
  })
})
